import { describe, expect, test } from 'vitest';
import { outlineApart } from '../../src/composition/expression-threads.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { inPieces } from '../../src/jobs/in-pieces.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import {
  expressionsToOutline,
  LONGEST_EXPRESSION,
  MOST_PARENTS,
  type OutlineApart,
} from '../../src/settings/crm-expressions.ts';
import { CHANNELS, ENV, TENANT, writeConfiguration } from '../settings/configuration-directory.ts';
import { paced } from '../support/pace.ts';

/*
 * Attack: an editor of a tenant's file writes expressions that JSONata parses for seconds. The thread that serves all tenants parses no
 * expression.
 */

const OPTIONS = { env: ENV, connectors, reminderChannels: CHANNELS, mode: 'set-aside' as const };

function tenantWith(expressions: readonly string[]): string {
  const rules = expressions.map((one, index) => `        p${index}: { expression: '${one}' }\n`).join('');
  return `${TENANT.replace('calendar\n', 'feed\n')}  people:
    connector: hubspot
    connection: work
    crm:
      expressions: allowed
      mapping:
${rules}`;
}

async function opened(expressions: readonly string[], apart: OutlineApart = outlineApart) {
  const dir = writeConfiguration({ 'tenants/uno.yaml': tenantWith(expressions) });
  const before = process.threadCpuUsage();
  const files = await ConfigurationFiles.open(
    { ...OPTIONS, dir, outlineApart: apart },
    async () => new Map(),
    inPieces,
  );
  const { user, system } = process.threadCpuUsage(before);
  const faults = files.configuration.unusable.flatMap((tenant) => tenant.faults);
  const told = faults
    .filter(({ path }) => path.endsWith('.expression'))
    .map(({ path, message, remedy }) => [path, message, remedy]);
  return { milliseconds: (user + system) / 1_000, told, fileNames: new Set(faults.map(({ file }) => file)), dir };
}

describe('a tenant’s file of expressions', () => {
  test('with endless parent references is refused, with the position and the limit', async () => {
    const parents = Array.from({ length: 50 }, (_, index) => `a${index}.${'b.%.'.repeat(990)}c`);
    const { milliseconds, told, fileNames, dir } = await opened([...parents, 'a'.repeat(LONGEST_EXPRESSION + 1)]);
    expect(told).toHaveLength(51);
    const remedy = (index: number) => told[index]?.[2];
    expect(told[0]?.[0]).toBe('targets.people.crm.mapping.p0.expression');
    expect(remedy(0)).toBe(`use the operator % (parent) at most ${MOST_PARENTS} times`);
    expect(remedy(50)).toBe(`use at most ${LONGEST_EXPRESSION} characters`);
    expect([...fileNames]).toEqual([`${dir}/tenants/uno.yaml`]);
    expect(milliseconds).toBeLessThan(paced(1_000));
  });

  test('of the maximum cost is parsed in a worker thread, each expression once', async () => {
    const dear = Array.from(
      { length: 50 },
      (_, index) => `a${index}.${'b.%.'.repeat(MOST_PARENTS)}${'b.'.repeat(1_900)}c`,
    );
    const asked: string[] = [];
    const apart: OutlineApart = (expressions) => {
      asked.push(...expressions);
      return outlineApart(expressions);
    };
    const { milliseconds, told } = await opened([...dear, ...dear.slice(0, 5)], apart);
    expect(told).toEqual([]);
    expect(asked).toEqual(dear);
    expect(milliseconds).toBeLessThan(paced(1_000));
    expect(expressionsToOutline({ mapping: { p: { expression: dear[0] } } })).toEqual([]);
  });

  test('that is no JSONata is refused with the message of the thread', async () => {
    const { told } = await opened(['a.b.(']);
    expect(told).toMatchObject([
      ['targets.people.crm.mapping.p0.expression', 'is not a JSONata expression', expect.any(String)],
    ]);
  });
});
