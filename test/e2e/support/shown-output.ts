import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wordsOf } from '../../support/documented-commands.ts';
import type { SmallWorld } from './small-world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const BLOCK = /```text\n\$ (clinic-mirror [^\n]+)\n([\s\S]*?)```/g;

/** A command with its output, as a page shows them. */
export interface Shown {
  command: string;
  output: string;
}

/** One step of a section: a command of the page, or an action outside clinic-mirror. */
export type Step = string | (() => unknown);

/** Names of a page, such as the id of a hold, with the names of the test. */
export type Names = Map<string, string>;

/** Returns the sections of a page that show a command with its output, by heading. */
export function shownIn(page: string): Map<string, Shown[]> {
  const [, ...sections] = readFileSync(join(ROOT, page), 'utf8').split(/^## /m);
  const all = sections.map((text): [string, Shown[]] => [
    text.split('\n', 1)[0] ?? '',
    [...text.matchAll(BLOCK)].map(([, command = '', output = '']) => ({ command, output })),
  ]);
  return new Map(all.filter(([, shown]) => shown.length > 0));
}

/** Carries out the steps, and returns the output of each command with the names of the page. */
export async function runSteps(world: SmallWorld, steps: readonly Step[], names: Names): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (const step of steps) {
    if (typeof step !== 'string') {
      await step();
      continue;
    }
    const words = wordsOf(step).map((word) => names.get(word) ?? word);
    const { out, err } = await world.cli(...words.slice(1));
    let output = (out === '' ? err : out).replaceAll(world.configDir, 'config');
    for (const [name, here] of names) output = output.replaceAll(here, name);
    shown.push({ command: step, output: `${output.trimEnd()}\n` });
  }
  return shown;
}

/** Replaces the values that vary: times, ages, ids, amounts above zero, and the width of columns. */
export function steady({ command, output }: Shown): Shown {
  const text = output
    .replaceAll(/\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?Z?)?/g, '<time>')
    .replaceAll(/\b\d+(?:\.\d+)? (?:ms|s|min|h|days?)\b/g, '<age>')
    .replaceAll(/(last cycle|feeds\/)\s*[\w-]{8,}/g, '$1 <id>')
    .replaceAll(/(?<![\w-])[1-9]\d*(?![\w-])/g, '<n>')
    .replaceAll(/[─\s]+/g, ' ');
  return { command, output: text.trim() };
}

/** Writes the outputs into the page, if `SHOWN_OUTPUT=write` is set: for a change of the program's texts. */
export function rewrite(page: string, heading: string, ran: readonly Shown[]): void {
  if (process.env.SHOWN_OUTPUT !== 'write') return;
  const path = join(ROOT, page);
  const parts = readFileSync(path, 'utf8').split(/^(?=## )/m);
  const left = [...ran];
  const written = parts.map((part) =>
    part.startsWith(`## ${heading}\n`)
      ? part.replaceAll(BLOCK, (block, command: string) => {
          const next = left.shift();
          return next?.command === command ? `\`\`\`text\n$ ${command}\n${next.output}\`\`\`` : block;
        })
      : part,
  );
  writeFileSync(path, written.join(''));
}
