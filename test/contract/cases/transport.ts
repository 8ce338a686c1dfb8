import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';
import type { Item } from '../../../src/core/model/items.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { type AnyKit, deleteOperation, describeOutcome, failure, updateOperation, written } from '../contract-kit.ts';

const CUT_GZIP: ProxyFault = {
  kind: 'rewrite',
  answer: (answer) => ({
    ...answer,
    headers: { ...answer.headers, 'content-encoding': 'gzip' },
    body: gzipSync(answer.body).subarray(0, -12),
  }),
};

/** Network faults in answers. A read that broke off is an error: only a complete read proves absence. */
export const transport = group('transport', {
  'a reset during a read is an error that is retried later': brokenReading({ kind: 'cut' }),
  'an interrupted answer to a read is an error that is retried later': brokenReading({ kind: 'cut-body' }),
  'an interrupted compressed answer to a read is an error that is retried later': brokenReading(CUT_GZIP),
  'a captive portal’s page during a read is an error that is retried later': brokenReading({ kind: 'html' }),
  'the page of a captive portal in answer to a write is no success': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'html' } });
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    expect(failure(outcome).retry).toBe('later');
    expect(await kit.objects()).toEqual([]);
    expect(describeOutcome((await kit.attempt([kit.toCreate('a')]))[0])).toBe('written created');
  },
  'an answer that proves nothing is no success of a create': async (kit) => {
    for (const [index, body] of NOTHING_PROVED.entries()) {
      const create = kit.toCreate(`r${index}`);
      await expectNoSuccess(kit, create, body);
      expect(await kit.objects(), JSON.stringify(body)).toHaveLength(index);
      expect(describeOutcome((await kit.attempt([create]))[0])).toBe('written created');
    }
  },
  'an answer that proves nothing is no success of an update': async (kit) => {
    const [created] = await kit.create('a');
    let { versionTag } = created!;
    for (const [index, body] of NOTHING_PROVED.entries()) {
      const before = (await kit.object('a')).title;
      const update = updateOperation('a', kit.item(`Changed ${index}`), versionTag);
      await expectNoSuccess(kit, update, body);
      expect((await kit.object('a')).title, JSON.stringify(body)).toBe(before);
      ({ versionTag } = written((await kit.attempt([update]))[0]!));
      expect((await kit.object('a')).title).toBe(`Changed ${index}`);
    }
  },
  'an answer that proves nothing is no success of a deletion': async (kit) => {
    for (const [index, body] of NOTHING_PROVED.entries()) {
      const recordId = `r${index}`;
      const [created] = await kit.create(recordId);
      const deletion = deleteOperation(recordId, created!.versionTag);
      await expectNoSuccess(kit, deletion, body);
      expect(await kit.objects(), JSON.stringify(body)).toHaveLength(1);
      expect(describeOutcome((await kit.attempt([deletion]))[0])).toBe('deleted deleted');
    }
  },
  'a compressed answer to a write that breaks off ends as one object': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: CUT_GZIP });
    const outcomes = await kit.deliver([kit.toCreate('a')]);
    expect(outcomes[0]?.result).toBe('written');
    expect(await kit.objects()).toHaveLength(1);
  },
  'unknown fields and values are ignored': async (kit) => {
    await kit.create('a', 'b');
    const { dialect, proxy } = kit.target;
    proxy.add({ ...dialect.reads, fault: { kind: 'rewrite', answer: (answer) => dialect.withUnknownFields(answer) } });
    const items = await kit.readAll();
    expect(items.map((item) => item.item)).toEqual([kit.item(), kit.item()]);
  },
});

/** Answers with 200 that a proxy between daemon and server may give. */
const NOTHING_PROVED = [
  '',
  'null',
  '[]',
  '{}',
  '{"data":[{"id":',
  '\u0000\u0001',
  '{"items":"none","value":7,"results":{}}',
];

/** Answers the operation's request before it reaches the server. */
async function expectNoSuccess(kit: AnyKit, operation: Operation<Item>, body: string): Promise<void> {
  const answer = { status: 200, headers: { 'content-type': 'application/json' }, body };
  kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'answer', answer } });
  const [outcome] = await kit.attempt([operation]);
  expect(outcome?.result, JSON.stringify(body)).toBe('failed');
  expect(failure(outcome).retry).toBe('later');
}

function brokenReading(fault: ProxyFault): ContractCase['run'] {
  return async (kit) => {
    await kit.create('a', 'b');
    const { proxy, dialect } = kit.target;
    proxy.add({ ...dialect.reads, times: Number.POSITIVE_INFINITY, fault });
    await expect(kit.readAll()).rejects.toMatchObject({ name: 'MirrorError', retry: 'later' });
    proxy.clear();
    expect(await kit.readAll()).toHaveLength(2);
  };
}
