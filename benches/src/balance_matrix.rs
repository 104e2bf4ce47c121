//! Figures of one kind for several contenders in several situations: a table whose columns are the situations.

use serde_json::{Value, json};

use super::machine::Others;
use super::report::digits;

/// The figures of one part, under one heading.
pub(crate) struct Matrix {
    title: String,
    columns: Vec<String>,
    rows: Vec<Row>,
    others: Others,
}

struct Row {
    name: String,
    figures: Vec<Option<f64>>,
    target: &'static str,
}

impl Matrix {
    /// Made before the first measurement: it watches the machine from here on. The title says the unit.
    pub(crate) fn new(title: impl Into<String>, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { title: title.into(), columns, rows: Vec::new(), others: Others::watch() }
    }

    /// One contender; `target` is in words.
    pub(crate) fn push(
        &mut self,
        name: impl Into<String>,
        figures: impl IntoIterator<Item = impl Into<Option<f64>>>,
        target: &'static str,
    ) {
        let figures = figures.into_iter().map(Into::into).collect();
        self.rows.push(Row { name: name.into(), figures, target });
    }

    /// The table in the form that `BENCHMARKS.md` uses.
    pub(crate) fn to_markdown(&self) -> String {
        let heads: String = self.columns.iter().map(|column| format!(" {column} |")).collect();
        let lines = "---:|".repeat(self.columns.len());
        let mut out = format!("\n### {}\n\n| |{heads} target |\n|---|{lines}---|\n", self.title);
        for row in &self.rows {
            let cell = |figure: &Option<f64>| format!(" {} |", figure.map_or("–".to_owned(), digits));
            let cells: String = row.figures.iter().map(cell).collect();
            out += &format!("| {} |{cells} {} |\n", row.name, row.target);
        }
        out += &format!("\nOthers used {:.0} % of the machine meanwhile.\n", self.others.percent());
        out
    }

    pub(crate) fn to_json(&self) -> Value {
        let row = |row: &Row| json!({"name": row.name, "figures": row.figures, "target": row.target});
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        json!({"title": self.title, "columns": self.columns, "rows": rows, "others_percent": self.others.percent()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let mut matrix = Matrix::new("Picks, in ns", ["10", "100"]);
        matrix.push("ours", [Some(12.34), None], "≤ 40");
        let text = matrix.to_markdown();
        assert!(text.starts_with(
            "\n### Picks, in ns\n\n| | 10 | 100 | target |\n|---|---:|---:|---|\n| ours | 12.3 | – | ≤ 40 |\n"
        ));
    }
}
