import { fork } from 'node:child_process';
import { once } from 'node:events';

/** What a program of its own process tells its parent, for what nothing else may have used before. @throws Error when it fails */
export async function toldBy<Told>(main: string, ...args: readonly number[]): Promise<Told> {
  const child = fork(main, args.map(String));
  const ended = once(child, 'exit');
  const failed = ended.then(([code]) => Promise.reject(new Error(`the process ended with ${code}`)));
  failed.catch(() => {});
  const [told] = (await Promise.race([once(child, 'message'), failed])) as [Told];
  await ended;
  return told;
}
