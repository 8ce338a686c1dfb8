import { fork } from 'node:child_process';
import { once } from 'node:events';

/**
 * Returns the message of a program to its parent. A separate process ensures that no earlier work affects the measurement. @throws Error if
 * the program fails
 */
export async function toldBy<Told>(main: string, ...args: readonly number[]): Promise<Told> {
  const child = fork(main, args.map(String));
  const ended = once(child, 'exit');
  const failed = ended.then(([code]) => Promise.reject(new Error(`the process ended with ${code}`)));
  failed.catch(() => {});
  const [told] = (await Promise.race([once(child, 'message'), failed])) as [Told];
  await ended;
  return told;
}
