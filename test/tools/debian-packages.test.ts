import { expect, test } from 'vitest';
import { withDependencies } from '../../tools/debian-packages.ts';

const graph: Record<string, string[]> = {
  server: ['python', 'adduser', 'libc6'],
  python: ['libssl', 'python-minimal'],
  'python-minimal': ['python', 'libz'],
  adduser: ['perl'],
};

test('resolves wanted dependencies transitively, including cycles', async () => {
  const asked: string[] = [];
  const dependenciesOf = async (names: readonly string[]) => {
    asked.push(...names);
    return names.flatMap((name) => graph[name] ?? []);
  };
  const wanted = (name: string) => /^(python|lib)/.test(name) && name !== 'libc6';
  expect(await withDependencies(['server'], wanted, dependenciesOf)).toEqual([
    'libssl',
    'libz',
    'python',
    'python-minimal',
    'server',
  ]);
  expect(asked).not.toContain('adduser');
  expect(new Set(asked).size).toBe(asked.length);
});
