// The page of a measured step alone.

import { DATA } from "gpuplace/views/page/data.js";
import { showStep } from "gpuplace/views/page/step.js";

showStep(DATA.step, document.getElementById("lanes"), () => {});
document.documentElement.dataset.ready = "yes";
