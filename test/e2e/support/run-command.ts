import { Readable, Writable } from 'node:stream';
import { runCommand } from '../../../src/command-line.ts';
import type { SmallWorld } from './small-world.ts';

/** What a command said, and its exit code. */
export interface Ran {
  code: number;
  out: string;
  err: string;
}

/**
 * Runs a command of the product to its end in this process, since a separate process takes a second of CPU time to start.
 * `test/cli.test.ts` shows that a separate process gives the same output.
 * @param onError called at each addition with all standard error so far
 * @param interrupted aborts like the user's Ctrl-C
 */
export async function runHere(
  { configDir, env }: Pick<SmallWorld, 'configDir' | 'env'>,
  args: readonly string[],
  onError?: (text: string) => void,
  interrupted = new AbortController().signal,
): Promise<Ran> {
  const said = { out: '', err: '' };
  const into = (stream: 'out' | 'err') =>
    new Writable({
      decodeStrings: false,
      write(chunk: string, _, done) {
        said[stream] += chunk;
        if (stream === 'err') onError?.(said.err);
        done();
      },
    });
  const code = await runCommand(['--config', configDir, ...args], {
    env: { ...process.env, ...env },
    stdin: Readable.from([]),
    stdout: into('out'),
    stderr: into('err'),
    interrupted,
  });
  return { code, ...said };
}
