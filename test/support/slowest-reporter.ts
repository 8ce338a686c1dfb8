import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 10;

/** Says at the end which files took longest, once a run is large enough for anybody to wonder. */
export default class SlowestReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return;
    const seconds = modules.map((module) => ({
      file: relative(process.cwd(), module.moduleId),
      seconds: module.diagnostic().duration / 1_000,
    }));
    seconds.sort((one, other) => other.seconds - one.seconds);
    console.log(`\nThe ${SHOWN} slowest files:`);
    for (const slow of seconds.slice(0, SHOWN)) console.log(`${slow.seconds.toFixed(1).padStart(8)} s  ${slow.file}`);
  }
}
