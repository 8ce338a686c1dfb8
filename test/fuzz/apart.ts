import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { fuzz, type Outcome, type Run } from './run.ts';

const ENTRY = fileURLToPath(import.meta.url);

/**
 * As {@link fuzz}, in a process of its own. The limit of a thread's heap ends that thread alone only where little is asked for at once: what
 * asks for one large piece, as an array that grows, ends the process that the thread is in.
 */
export async function fuzzApart(run: Run): Promise<Outcome> {
  const { parser, seed, from: index = 0 } = run;
  const child = fork(ENTRY, { serialization: 'advanced', stdio: 'ignore' });
  let outcome: Outcome | null = null;
  child.once('message', (told: Outcome) => {
    outcome = told;
    // Now it ends: not before, since what it told could come after its end.
    child.disconnect();
  });
  child.send(run);
  const [code, signal]: unknown[] = await once(child, 'exit');
  if (outcome !== null) return outcome;
  const what = `an input from here on ended the whole process (${signal ?? `exit code ${code}`})`;
  // As Node ends for want of memory.
  const kind = signal === 'SIGABRT' ? 'memory' : 'crash';
  const findings: Outcome['findings'] = [{ parser, seed, index, kind, what }];
  return { parser, findings, inputs: 0, refused: 0, slowestMs: 0, mostBytes: 0 };
}

// Only as the process of its own: whoever imports this has another entry.
if (process.argv[1] === ENTRY && process.send !== undefined) {
  // When it has told, or whoever asked is gone.
  process.once('disconnect', () => process.exit());
  process.once('message', async (run: Run) => {
    process.send?.(await fuzz(run));
  });
}
