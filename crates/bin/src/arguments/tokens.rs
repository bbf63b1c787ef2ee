//! Commands about tokens of newcomers, and verbs for what is done otherwise here.

use clap::{Args, Subcommand};

/// Tokens of newcomers.
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token, and print it.
    ///
    /// Example: karavel token create --ttl 1h --description "for east"
    Create(CreateToken),
    /// Show all tokens.
    ///
    /// Example: karavel token list
    List,
    /// Delete tokens.
    ///
    /// Example: karavel token delete $(karavel token create)
    Delete {
        /// The tokens, or their ids, which stand before the dot.
        #[arg(required = true, value_name = "ID | TOKEN")]
        tokens: Vec<String>,
    },
}

/// Make a token.
#[derive(Args, Debug)]
pub(crate) struct CreateToken {
    /// How long it lasts, such as 24h; 0 for ever.
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub(crate) ttl: String,
    /// What it is for, with commas in between: signing, authentication.
    #[arg(
        long,
        value_name = "USAGES",
        value_delimiter = ',',
        default_value = "signing,authentication"
    )]
    pub(crate) usages: Vec<String>,
    /// The groups of whoever shows it, with commas in between.
    #[arg(
        long,
        value_name = "GROUPS",
        value_delimiter = ',',
        default_value = "system:bootstrappers:karmada:default-cluster-token"
    )]
    pub(crate) groups: Vec<String>,
    /// What it is made for, in words.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) description: String,
    /// Print the whole command that Karmada's agents register with, instead of the token alone.
    #[arg(long)]
    pub(crate) print_register_command: bool,
}

/// A verb for what is done otherwise here.
#[derive(Args, Debug)]
pub(crate) struct Otherwise {
    /// Words and flags as Karmada's own tool takes them; nothing is done with them.
    #[arg(
        value_name = "WORDS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<String>,
}
