// The page of a measured step alone.

import { DATA } from "gpuplace/page/data.js";
import { showStep } from "gpuplace/page/step.js";

showStep(DATA.step, document.getElementById("lanes"), () => {});
document.documentElement.dataset.ready = "yes";
