"""The paper's protocol as data, its runner, tables and figures."""
