/** Lets threads run out of memory, two at a time, and prints how often this process survived. It runs apart: the fault ends a process. */
import { Apart } from '../../src/http/apart.ts';

const ROUNDS = 12;
const threads = new Apart(new URL('./apart-entry.ts', import.meta.url), {
  ...{ processorMs: 60_000, elapsedMs: 600_000, mebibytes: 32 },
});
let survived = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const failures = ['one', 'other'].map((host) =>
    Array.fromAsync(threads.ask('grow', host)).catch((error: Error) => error.message),
  );
  for (const failure of await Promise.all(failures)) if (/MiB of memory/.test(String(failure))) survived += 1;
}
console.log(`survived ${survived} of ${2 * ROUNDS}`);
process.exit(0);
