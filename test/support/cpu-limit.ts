// Set-up file of vitest in a run of the quick tier: names each file above the goal of processor time, and fails a file far above it.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { slowdownNow } from './pace.ts';
import { quickFileFault } from './tiers.ts';

/** Fields 14 to 17 of `/proc/<pid>/stat` (proc_pid_stat(5)): own time in user and kernel mode, and that of ended children, in ticks. */
const FIELDS = [14, 15, 16, 17];
/** Ticks per second, `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** Processor time of this process and of its ended children, in seconds; 0 on a host without /proc. */
function cpuSeconds(): number {
  let stat: string;
  try {
    stat = readFileSync('/proc/self/stat', 'utf8');
  } catch {
    return 0;
  }
  // The second field, the program's name in parentheses, may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return FIELDS.reduce((sum, field) => sum + Number(fields[field - 3]), 0) / TICKS_PER_SECOND;
}

let startedAtCpuSeconds = 0;

beforeAll(() => {
  startedAtCpuSeconds = cpuSeconds();
});

afterAll(() => {
  const file = relative(process.cwd(), expect.getState().testPath ?? '');
  const fault = quickFileFault(file, cpuSeconds() - startedAtCpuSeconds, slowdownNow);
  if (fault?.isFatal) throw new Error(fault.text);
  if (fault !== null) process.stderr.write(`${fault.text}\n`);
});
