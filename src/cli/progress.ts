import { createRequire } from 'node:module';
import type * as CliProgress from 'cli-progress';
import type { Progress } from '../model/tasks.ts';
import type { OutputStream } from './paper.ts';

/** Loads a package when it is first needed: most commands never show a bar. */
const load = createRequire(import.meta.url);

/** Where text goes: a terminal, or what takes its place. */
export type Terminal = NodeJS.WritableStream & OutputStream;

/** Progress on standard error: a bar in a terminal, one line a step elsewhere. */
export function createProgress(stream: Terminal): Progress & { end(): void } {
  return stream.isTTY ? barProgress(stream) : lineProgress(stream);
}

function barProgress(stream: Terminal): Progress & { end(): void } {
  const { Presets, SingleBar } = load('cli-progress') as typeof CliProgress;
  const bar = new SingleBar(
    { stream, format: '{step} {bar} {value}/{total}', hideCursor: true, clearOnComplete: true },
    Presets.shades_grey,
  );
  let running = false;
  const show = (step: string, done = 0, total = 0) => {
    if (!running) bar.start(total, done, { step });
    running = true;
    bar.setTotal(Math.max(total, done));
    bar.update(done, { step });
  };
  return Object.assign(show, { end: () => bar.stop() });
}

function lineProgress(stream: Terminal): Progress & { end(): void } {
  let last = '';
  const show = (step: string) => {
    if (step !== last) stream.write(`${step} …\n`);
    last = step;
  };
  return Object.assign(show, { end: () => {} });
}
