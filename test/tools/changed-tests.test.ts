import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { changedFiles, type Project, testsOfChange } from '../../tools/changed-tests.ts';
import { runtimeImports } from '../../tools/import-graph.ts';

/** A project whose files import what is listed. */
function project(imports: Record<string, readonly string[]>, texts: Record<string, string> = {}): Project {
  const files = Object.keys(imports);
  return {
    files,
    tests: files.filter((file) => file.endsWith('.test.ts')),
    importsOf: (file) => imports[file] ?? [],
    read: (file) => texts[file] ?? '',
  };
}

const SMALL = project(
  {
    'src/engine/guard.ts': [],
    'src/engine/memo.ts': ['src/engine/guard.ts'],
    'src/connectors/caldav/writing.ts': [],
    'src/connectors/caldav/index.ts': ['src/connectors/caldav/writing.ts'],
    'src/connectors/registry.ts': ['src/connectors/caldav/index.ts'],
    'src/daemon/daemon.ts': ['src/connectors/registry.ts', 'src/engine/memo.ts'],
    'test/e2e/support/world.ts': ['src/daemon/daemon.ts'],
    'test/contract/caldav-target.ts': ['src/connectors/caldav/index.ts'],
    'test/engine/guard.test.ts': ['src/engine/guard.ts'],
    'test/engine/memo.test.ts': ['src/engine/memo.ts'],
    'test/connectors/caldav/writing.test.ts': ['src/connectors/caldav/writing.ts'],
    'test/contract/caldav.test.ts': ['test/contract/caldav-target.ts'],
    'test/daemon/daemon.test.ts': ['src/daemon/daemon.ts'],
    'test/e2e/crashes.test.ts': ['test/e2e/support/world.ts'],
    'test/e2e/guard.test.ts': ['test/e2e/support/world.ts'],
    'test/docs.test.ts': [],
  },
  {
    'test/e2e/guard.test.ts': '// Tier: quick. A journey.\n',
    'test/docs.test.ts': '// Tier: quick, at each change. Reads documents.\n',
    'src/engine/memo.ts': "load('cycle.lua')",
  },
);

describe('after a change', () => {
  test('behind the contract of a vendor, the tests and the contract suite of the vendor run', () => {
    expect(testsOfChange(['src/connectors/caldav/writing.ts'], SMALL)).toEqual([
      'test/connectors/caldav/writing.test.ts',
      'test/contract/caldav.test.ts',
      'test/docs.test.ts',
    ]);
  });

  test('of a rule, each quick test that reaches the rule runs, and no full test behind another module', () => {
    expect(testsOfChange(['src/engine/guard.ts'], SMALL)).toEqual([
      'test/engine/guard.test.ts',
      'test/engine/memo.test.ts',
      'test/daemon/daemon.test.ts',
      'test/e2e/guard.test.ts',
      'test/docs.test.ts',
    ]);
  });

  test('of a test, the test runs, also in the full tier', () => {
    expect(testsOfChange(['test/e2e/crashes.test.ts'], SMALL)).toEqual([
      'test/e2e/crashes.test.ts',
      'test/docs.test.ts',
    ]);
  });

  test('of a helper of full tests, these tests run', () => {
    expect(testsOfChange(['test/e2e/support/world.ts'], SMALL)).toContain('test/e2e/crashes.test.ts');
  });

  test('of a script, the tests of the file that loads the script run', () => {
    expect(testsOfChange(['src/jobs/scripts/cycle.lua'], SMALL)).toContain('test/engine/memo.test.ts');
  });

  test('of a document, only files that read every document run', () => {
    expect(testsOfChange(['docs/runbook.md'], SMALL)).toEqual(['test/docs.test.ts']);
  });

  test('of the packages, the whole quick tier runs', () => {
    const quick = SMALL.tests.filter((file) => !/contract|crashes/.test(file));
    expect(testsOfChange(['package-lock.json'], SMALL)).toEqual(quick);
  });
});

test('imports are followed if they exist at run time: static, dynamic and re-exports, not types', () => {
  const source = [
    "import type { A } from './a.ts';",
    "import { type B } from './b.ts';",
    "import { type C, d } from './c.ts';",
    "export type { E } from './e.ts';",
    "export * from '../f.ts';",
    "import './g.ts';",
    "const h = await import('./h.ts');",
    "import { z } from 'zod';",
    'const text = "import \'./text.ts\'";',
  ].join('\n');
  expect(runtimeImports('src/x/y.ts', source).sort()).toEqual([
    'src/f.ts',
    'src/x/c.ts',
    'src/x/g.ts',
    'src/x/h.ts',
    'zod',
  ]);
});

describe('changed files', () => {
  let folder = '';
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: folder });
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };

  test('are modified, removed, staged and untracked files since a revision, without ignored files', () => {
    folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-changed-'));
    git('init', '--quiet');
    for (const file of ['same.ts', 'modified.ts', 'removed.ts']) write(file, 'one');
    write('.gitignore', 'ignored.ts\n');
    git('add', '.');
    git('commit', '--quiet', '--message', 'one');
    write('modified.ts', 'two');
    rmSync(join(folder, 'removed.ts'));
    write('new folder/ünicode.ts', 'new');
    write('ignored.ts', 'new');
    write('staged.ts', 'new');
    git('add', 'staged.ts');
    const expected = ['modified.ts', 'new folder/ünicode.ts', 'removed.ts', 'staged.ts'];
    expect(changedFiles(folder)).toEqual(expected);
    git('add', '.');
    git('commit', '--quiet', '--message', 'two');
    expect(changedFiles(folder)).toEqual([]);
    expect(changedFiles(folder, 'HEAD~1')).toEqual(expected);
    expect(() => changedFiles(folder, 'missing')).toThrow('missing');
  });
});
