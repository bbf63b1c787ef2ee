//! CEL expressions as Kubernetes uses them: compiled against declared types, evaluated within a budget.
