// The type of gpuplace/rules.js, which modules.py makes of rules.json; only for the checker.

import rules from "./rules.json" with { type: "json" };

export const RULES: typeof rules;
