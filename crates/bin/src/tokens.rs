//! Commands about tokens of newcomers: from what was typed to the call.

use cli::{Failure, NewToken, Reach};
use object::duration::Duration;

use crate::arguments::{CreateToken, Token};
use crate::clusters::now;
use crate::reading::answer;
use crate::running::block_on;
use crate::{print, say};

/// Makes, shows and deletes tokens.
pub(crate) fn token(reach: &Reach, typed: Token) -> Result<(), Failure> {
    match typed {
        Token::Create(create) => make(reach, create),
        Token::List => answer(block_on(async {
            let control = reach.connect().await?;
            cli::tokens(&control, now()).await
        })??),
        Token::Delete { tokens } => block_on(async {
            let control = reach.connect().await?;
            for token in &tokens {
                print(&cli::delete_token(&control, token).await?)?;
            }
            Ok(())
        })?,
    }
}

fn make(reach: &Reach, typed: CreateToken) -> Result<(), Failure> {
    let new = NewToken {
        seconds: seconds(&typed.ttl)?,
        usages: typed.usages,
        groups: typed.groups,
        description: typed.description,
    };
    block_on(async {
        let control = reach.connect().await?;
        if !typed.print_register_command {
            let token = cli::create_token(&control, &new, now()).await?;
            return print(&format!("{token}\n"));
        }
        // What may fail comes before the token is made.
        let (pin, address) = (cli::authority_pin(&control).await?, reach.address().await?);
        let host = address.server.trim_start_matches("https://");
        let token = cli::create_token(&control, &new, now()).await?;
        say("karavel has no agent of its own yet; this is for Karmada's karmadactl\n");
        print(&format!(
            "karmadactl register {host} --token {token} --discovery-token-ca-cert-hash {pin}\n"
        ))
    })?
}

fn seconds(text: &str) -> Result<i64, Failure> {
    if text == "0" {
        return Ok(0);
    }
    let refused = |why: String| {
        Failure::refused(
            format!("--ttl: {why}"),
            "write a time such as 24h, or 0 for ever",
        )
    };
    let time: Duration = text
        .parse()
        .map_err(|error: object::duration::ParseDurationError| refused(error.to_string()))?;
    if text.starts_with('-') {
        return Err(refused(format!("{text} is less than no time")));
    }
    i64::try_from(time.to_wait().as_secs()).map_err(|error| refused(error.to_string()))
}
