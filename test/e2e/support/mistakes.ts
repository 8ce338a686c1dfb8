import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { paced } from '../../support/pace.ts';
import { type Ran, runHere } from './run-command.ts';

/** A mistake is reported to an administrator within this time, on a usual host. */
const LIMIT_MS = 10_000;

/** A copy of the configuration in which one mistake is made. */
export interface Attempt {
  configDir: string;
  env: Record<string, string>;
  /** Changes a text in a file, which must have it. */
  replace(file: string, from: string, to: string): Promise<void>;
  /** Changes the content of a YAML file. */
  edit(file: string, change: (content: Content) => void): Promise<void>;
  run(...args: string[]): Promise<Ran>;
  /** Runs a command until standard error has this, and interrupts it. @returns what it said there */
  runUntil(said: RegExp, ...args: string[]): Promise<string>;
  /** Undone when the row ends, in reverse order. */
  afterwards(undo: () => unknown): void;
}

/** A YAML file as far as mistakes change it. */
// biome-ignore lint/suspicious/noExplicitAny: each mistake is made somewhere else in it
export type Content = Record<string, any>;

/** One mistake of an administrator. */
export interface Mistake {
  name: string;
  /** The command, or the page, on which it shows first. */
  surface: string;
  /** Makes the mistake. @returns the text on the surface */
  make(attempt: Attempt): Promise<string>;
  /** Names the place to correct: a file (for YAML with the line), a setting with its file, or the URL of a server. */
  where: RegExp;
  cause: RegExp;
  /** The command or the change that comes next. */
  next: RegExp;
}

interface Row {
  name: string;
  surface: string;
  seconds: number;
  sentence: string;
}

/** Creates one test for each mistake; prints the table when `MISTAKES_TABLE` is set. @param place of the working configuration */
export function testMistakes(
  mistakes: readonly Mistake[],
  place: () => { configDir: string; env: Record<string, string> },
): void {
  const rows: Row[] = [];
  for (const mistake of mistakes) {
    test(`${mistake.name}: ${mistake.surface} shows the location, the cause and the remedy, in time`, async () => {
      const { made, close } = await attempt(place());
      try {
        const begunAt = performance.now();
        const shown = await mistake.make(made);
        const tookMs = performance.now() - begunAt;
        const words = shown.replaceAll(made.configDir, 'config').replaceAll(/\s+/g, ' ').trim();
        rows.push({ ...mistake, seconds: tookMs / 1_000, sentence: words });
        expect(words).toMatch(mistake.where);
        expect(words).toMatch(mistake.cause);
        expect(words).toMatch(mistake.next);
        expect(tookMs).toBeLessThan(paced(LIMIT_MS));
      } finally {
        await close();
      }
    });
  }
  afterAll(() => {
    if (process.env.MISTAKES_TABLE !== undefined) process.stdout.write(renderTable(rows));
  });
}

async function attempt(place: { configDir: string; env: Record<string, string> }) {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-mistake-'));
  const configDir = join(dir, 'config');
  await cp(place.configDir, configDir, { recursive: true });
  const undos: (() => unknown)[] = [() => rm(dir, { recursive: true, force: true })];
  const env = { ...place.env };
  const made: Attempt = {
    configDir,
    env,
    async replace(file, from, to) {
      const before = await readFile(join(configDir, file), 'utf8');
      expect(before).toContain(from);
      await writeFile(join(configDir, file), before.replace(from, to));
    },
    async edit(file, change) {
      const content = parse(await readFile(join(configDir, file), 'utf8')) as Content;
      change(content);
      await writeFile(join(configDir, file), stringify(content));
    },
    run: (...args) => runHere({ configDir, env }, args),
    async runUntil(said, ...args) {
      const interrupt = new AbortController();
      const onError = (text: string) => said.test(text) && interrupt.abort();
      const { err } = await runHere({ configDir, env }, args, onError, interrupt.signal);
      return err;
    },
    afterwards: (undo) => void undos.push(undo),
  };
  return {
    made,
    async close() {
      for (const undo of undos.toReversed()) await undo();
    },
  };
}

function renderTable(rows: readonly Row[]): string {
  const lines = rows.map(({ name, surface, seconds, sentence }) => {
    return `| ${name} | ${surface} | ${seconds.toFixed(1)} | ${sentence.replaceAll('|', '\\|')} |\n`;
  });
  return `\n| mistake | first interface | seconds | sentence |\n|---|---|---|---|\n${lines.join('')}`;
}

/** What `doctor` says of its first problem: the finding, and what to do. */
function firstProblem({ out, err }: Ran): string {
  const [, finding = ''] = /^(?:PROBLEM|warning) +([\s\S]*?)(?=\n\S)/m.exec(out) ?? [];
  const [, next = ''] =
    /^1\. ([\s\S]*?)(?=\n\d+\. |$(?![\s\S]))/m.exec(out.slice(out.indexOf('Fix in this order'))) ?? [];
  return finding === '' ? `${out}${err}` : `${finding} → ${next}`;
}

type Made = Pick<Mistake, 'surface' | 'make'>;

/** A mistake that a command reports. */
export function saidBy(command: string, make: (made: Attempt) => Promise<unknown>): Made {
  return {
    surface: command,
    async make(made) {
      await make(made);
      const { out, err } = await made.run(...command.split(' '));
      // From a cycle, only the part about a target.
      const failing = command.startsWith('sync') ? out.search(/^(?!clinic-)[\w-]+: /m) : -1;
      return failing === -1 ? `${out}${err}` : out.slice(failing);
    },
  };
}

/** A mistake that the check of the files reports. */
export function checkedBy(make: (made: Attempt) => Promise<unknown>): Made {
  return saidBy('config check', make);
}

/** A mistake that is the first problem of `doctor`. */
export function examinedBy(command: 'doctor', make: (made: Attempt) => Promise<unknown>): Made {
  return {
    surface: command,
    async make(made) {
      await make(made);
      return firstProblem(await made.run(command));
    },
  };
}
