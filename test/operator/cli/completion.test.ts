import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completionsOf } from '../../../src/operator/cli/completion.ts';
import { createProgram } from '../../../src/operator/cli/program.ts';
import { configuredNames } from '../../../src/settings/surroundings.ts';
import { unusedOutside } from '../../../tools/unused-outside.ts';

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'clinic-mirror-completion-'));
  mkdirSync(join(dir, 'tenants'));
  writeFileSync(
    join(dir, 'tenants', 'aurora.yaml'),
    'targets: { doctor-1: {}, room: {} }\nconnections: { practice: {} }\n',
  );
  writeFileSync(join(dir, 'tenants', 'belvedere.yaml'), 'targets: [this is, no, mapping');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function complete(line: string): Promise<string[]> {
  const program = createProgram(unusedOutside());
  return completionsOf(program, line.split(' ').slice(1), async (given) => configuredNames(given ?? dir));
}

describe('what can come next', () => {
  test.each([
    ['clinic-mirror sta', ['status']],
    ['clinic-mirror holds ', ['approve', 'list', 'records', 'reject']],
    ['clinic-mirror plan ', ['aurora', 'belvedere']],
    ['clinic-mirror plan b', ['belvedere']],
    ['clinic-mirror --reason ticket plan a', ['aurora']],
    ['clinic-mirror health aurora ', ['doctor-1', 'room']],
    ['clinic-mirror login aurora ', ['clinic', 'practice']],
    ['clinic-mirror run --role s', ['scheduler']],
    ['clinic-mirror audit-log show --tenant b', ['belvedere']],
    ['clinic-mirror status --pr', ['--problems']],
    ['clinic-mirror triggers a', ['aurora']],
    ['clinic-mirror reminders opt-out aurora ', ['email', 'phone']],
    ['clinic-mirror plan aurora ', []],
  ])('%s', async (line, expected) => {
    expect(await complete(line)).toEqual(expected);
  });

  test('comes from the directory that the words name', async () => {
    expect(await complete(`clinic-mirror --config ${join(dir, 'nowhere')} plan `)).toEqual([]);
  });

  test('is nothing where a file cannot be read', async () => {
    expect(await complete('clinic-mirror health belvedere ')).toEqual([]);
    expect(await complete('clinic-mirror health nobody ')).toEqual([]);
  });
});
