//! A report as a page that needs nothing but itself.

use super::{Report, Step, WorkloadReport, figure};

/// The size of a plot.
const WIDTH: f64 = 640.0;
const BAR: f64 = 22.0;

impl Report {
    /// The page.
    #[must_use]
    pub(crate) fn page(&self) -> String {
        let machine = &self.machine;
        let workloads: String = self.workloads.iter().map(section).collect();
        format!(
            r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>karavel bench, {at}</title>
<style>{STYLE}</style></head><body>
<h1>karavel bench</h1>
<p>Version {version}, {target}, size {size}, {at}.<br>{cores} cores of {processor}, {memory} GiB, {system}.</p>
<p class="note">Server and generator are shares of all cores. Where the limit is <b>GENERATOR</b>, the load generator used more of a full machine than the server did, and the server could do more than the figure says.</p>
{workloads}</body></html>
"#,
            at = escape(&self.at),
            version = escape(&self.version),
            target = escape(&self.target),
            size = escape(&self.size),
            cores = machine.cores,
            processor = escape(&machine.processor),
            memory = machine.memory >> 30,
            system = escape(&machine.system),
        )
    }
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b2733;background:#fff}\
h1{font-weight:600}h2{margin:2.5rem 0 .2rem;font-weight:600}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #e3e8ee}th:first-child,td:first-child{text-align:left}\
th{font-weight:500;color:#5b6b7b}.note,.more{color:#5b6b7b;font-size:13px}.bad{color:#b3261e;font-weight:600}\
svg{width:100%;height:auto;margin:.6rem 0}svg text{font:12px system-ui,sans-serif;fill:#1b2733}.bar{fill:#2f6fb3}.tail{fill:#a9c6e4}.line{fill:none;stroke:#2f6fb3;stroke-width:2}.dot{fill:#2f6fb3}.axis{stroke:#c4ccd4}\
@media(prefers-color-scheme:dark){body{background:#11161c;color:#dfe6ee}svg text{fill:#dfe6ee}th,td{border-color:#27313c}}";

fn section(workload: &WorkloadReport) -> String {
    let rows: String = workload.steps.iter().map(row).collect();
    format!(
        "<h2>{}</h2><p class=\"more\">{}</p><table><tr><th>step</th><th>count</th><th>per second</th><th>p50 ms</th>\
         <th>p99 ms</th><th>max ms</th><th>server</th><th>generator</th><th>limit</th></tr>{rows}</table>{}{}{}\n",
        escape(&workload.name),
        escape(&workload.about),
        bars(
            "per second",
            &workload.steps,
            |step| step.per_second,
            |_| None
        ),
        bars(
            "latency, ms: p50 dark, p99 light",
            &workload.steps,
            |step| step.latency_ms.map(|spread| spread.p50),
            |step| step.latency_ms.map(|spread| spread.p99),
        ),
        curves(&workload.steps),
    )
}

fn row(step: &Step) -> String {
    let or_dash = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), figure);
    let share = |share: f64| format!("{:.0} %", share * 100.0);
    let class = match step.limit {
        super::Limit::Generator => " class=\"bad\"",
        _ => "",
    };
    let further: Vec<String> = step
        .figures
        .iter()
        .map(|(name, value)| format!("{} {}", escape(name), figure(*value)))
        .collect();
    let refused = match &step.first_failure {
        Some(why) => format!(
            "<div class=\"bad\">{} refused, the first: {}</div>",
            step.failures,
            escape(why)
        ),
        None => String::new(),
    };
    format!(
        "<tr><td>{}<div class=\"more\">{}</div>{refused}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td>{}</td><td{class}>{}</td></tr>",
        escape(&step.name),
        further.join(", "),
        step.count,
        or_dash(step.per_second),
        or_dash(step.latency_ms.map(|spread| spread.p50)),
        or_dash(step.latency_ms.map(|spread| spread.p99)),
        or_dash(step.latency_ms.map(|spread| spread.max)),
        step.server_share.map_or_else(|| "–".to_owned(), share),
        share(step.generator_share),
        step.limit.name(),
    )
}

/// A bar for each step that has the figure, with a lighter one behind it.
fn bars(
    title: &str,
    steps: &[Step],
    dark: fn(&Step) -> Option<f64>,
    light: fn(&Step) -> Option<f64>,
) -> String {
    let rows: Vec<(&str, f64, f64)> = steps
        .iter()
        .filter_map(|step| {
            let value = dark(step)?;
            Some((step.name.as_str(), value, light(step).unwrap_or(value)))
        })
        .collect();
    let most = rows.iter().map(|row| row.2.max(row.1)).fold(0.0, f64::max);
    if rows.len() < 2 || most <= 0.0 {
        return String::new();
    }
    let (label, room) = (220.0, WIDTH - 220.0 - 110.0);
    let height = BAR * (rows.len() as f64 + 1.0);
    let mut plot = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\"><text x=\"0\" y=\"14\">{}</text>",
        escape(title)
    );
    for (index, (name, value, behind)) in rows.iter().enumerate() {
        let y = BAR * (index as f64 + 1.0);
        let text = match behind > value {
            true => format!("{} / {}", figure(*value), figure(*behind)),
            false => figure(*value),
        };
        plot.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"tail\" x=\"{label}\" y=\"{}\" width=\"{:.1}\" height=\"{}\"/>\
             <rect class=\"bar\" x=\"{label}\" y=\"{}\" width=\"{:.1}\" height=\"{}\"/><text x=\"{:.1}\" y=\"{}\">{text}</text>",
            label - 8.0,
            y + 14.0,
            escape(name),
            y + 3.0,
            behind / most * room,
            BAR - 6.0,
            y + 3.0,
            value / most * room,
            BAR - 6.0,
            label + behind / most * room + 6.0,
            y + 14.0,
        ));
    }
    plot + "</svg>"
}

/// How figures grow where steps differ in a number: clusters, members, objects, watchers, templates.
fn curves(steps: &[Step]) -> String {
    let axes = ["clusters", "members", "objects", "watchers", "templates"];
    axes.iter()
        .map(|axis| {
            let points = |value: fn(&Step) -> Option<f64>| -> Vec<(f64, f64)> {
                let mut points: Vec<(f64, f64)> = steps
                    .iter()
                    .filter_map(|step| {
                        let at = step.figures.iter().find(|(name, _)| name == axis)?;
                        Some((at.1, value(step)?))
                    })
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                points.dedup_by(|a, b| a.0 == b.0);
                points
            };
            let time = points(|step| step.latency_ms.map(|spread| spread.p50));
            let memory = points(|step| step.server_memory.map(|bytes| bytes as f64 / 1048576.0));
            curve(&format!("p50 in ms against {axis}"), &time)
                + &curve(&format!("the server's MiB against {axis}"), &memory)
        })
        .collect()
}

/// A line through points; nothing where there is no growth to be seen.
fn curve(title: &str, points: &[(f64, f64)]) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return String::new();
    };
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    if last.0 <= first.0 || most <= 0.0 {
        return String::new();
    }
    let (left, right, top, bottom) = (60.0, WIDTH - 60.0, 30.0, 150.0);
    let x = |value: f64| left + (value - first.0) / (last.0 - first.0) * (right - left);
    let y = |value: f64| bottom - value / most * (bottom - top);
    let line: Vec<String> = points
        .iter()
        .map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value)))
        .collect();
    let dots: String = points
        .iter()
        .map(|(at, value)| {
            format!(
                "<circle class=\"dot\" cx=\"{0:.1}\" cy=\"{1:.1}\" r=\"3\"/><text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{3}</text>\
                 <text x=\"{0:.1}\" y=\"{4}\" text-anchor=\"middle\">{5}</text>",
                x(*at),
                y(*value),
                y(*value) - 8.0,
                figure(*value),
                bottom + 16.0,
                figure(*at),
            )
        })
        .collect();
    format!(
        "<svg viewBox=\"0 0 {WIDTH} 180\" role=\"img\"><text x=\"0\" y=\"14\">{}</text><line class=\"axis\" x1=\"{left}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>\
         <polyline class=\"line\" points=\"{}\"/>{dots}</svg>",
        escape(title),
        line.join(" ")
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;

    #[test]
    fn a_page_needs_nothing_else_and_takes_names_as_text() {
        let page = sample(2000.0).page();
        assert!(page.contains("a processor &lt;of&gt; some sort"));
        assert!(page.contains("<svg") && page.contains("class=\"bad\">GENERATOR"));
        for outside in ["http://", "https://", "<script", "src=", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
