import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const BIN = join(import.meta.dirname, '../../bin');

/** A program in a folder of its own that prints with which sizes it runs, and whether its process is the one that was started. */
function program(): string {
  const folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-bin-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(BIN, join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  mkdirSync(join(folder, 'src'));
  const seen = `JSON.stringify({
    sizes: process.execArgv.filter((each) => /semi-space|heap-growing/.test(each)),
    arenas: process.env.MALLOC_ARENA_MAX ?? null,
    args: process.argv.slice(2),
  })`;
  writeFileSync(join(folder, 'src/cli.ts'), `process.send?.(process.pid);\nconsole.log(${seen});\n`);
  return join(folder, 'bin/clinic-mirror.js');
}

function seenBy(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, chosen: readonly string[] = []) {
  const { MALLOC_ARENA_MAX: _, ...others } = process.env;
  const output = execFileSync(process.execPath, [...chosen, file, ...args], {
    encoding: 'utf8',
    env: { ...others, ...env },
  });
  return JSON.parse(output) as { sizes: string[]; arenas: string | null; args: string[] };
}

const SIZES = ['--max-semi-space-size=16', '--heap-growing-percent=50'];

test.each([
  { args: ['run'], sizes: SIZES, arenas: '2' },
  { args: ['-c', 'a folder', 'run', '--workers'], sizes: SIZES, arenas: '2' },
  { args: ['status'], sizes: [], arenas: null },
])('sizes of $args: $sizes', ({ args, sizes, arenas }) => {
  expect(seenBy(program(), args)).toEqual({ sizes, arenas, args });
});

test('sizes that the operator chose stay', () => {
  const file = program();
  const chosen = `${process.env.NODE_OPTIONS ?? ''} --max-semi-space-size=32`;
  expect(seenBy(file, ['run'], { NODE_OPTIONS: chosen })).toEqual({ sizes: [], arenas: null, args: ['run'] });
  const growth = ['--heap-growing-percent=100'];
  expect(seenBy(file, ['run'], {}, growth)).toEqual({ sizes: growth, arenas: null, args: ['run'] });
  expect(seenBy(file, ['run'], { MALLOC_ARENA_MAX: '4' })).toMatchObject({ sizes: SIZES, arenas: '4' });
});

test('a child process with a channel to its parent keeps it', async () => {
  const child = fork(program(), ['run'], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  expect(await once(child, 'message')).toEqual([child.pid, undefined]);
});
