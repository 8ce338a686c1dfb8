import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { describeOutcome, failure } from '../contract-kit.ts';

const CUT_GZIP: ProxyFault = {
  kind: 'rewrite',
  answer: (answer) => ({
    ...answer,
    headers: { ...answer.headers, 'content-encoding': 'gzip' },
    body: gzipSync(answer.body).subarray(0, -12),
  }),
};

/** What the network does to answers. A reading that broke off is an error: nothing less is proof of absence. */
export const transport = group('transport', {
  'a reset while reading is an error to be tried later': brokenReading({ kind: 'cut' }),
  'an answer that breaks off while reading is an error to be tried later': brokenReading({ kind: 'cut-body' }),
  'a compressed answer that breaks off while reading is an error to be tried later': brokenReading(CUT_GZIP),
  'the page of a captive portal while reading is an error to be tried later': brokenReading({ kind: 'html' }),
  'the page of a captive portal in answer to a write is no success': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'html' } });
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    expect(failure(outcome).retry).toBe('later');
    expect(await kit.objects()).toEqual([]);
    expect(describeOutcome((await kit.attempt([kit.toCreate('a')]))[0])).toBe('written created');
  },
  'a compressed answer to a write that breaks off ends as one object': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: CUT_GZIP });
    const outcomes = await kit.deliver([kit.toCreate('a')]);
    expect(outcomes[0]?.result).toBe('written');
    expect(await kit.objects()).toHaveLength(1);
  },
  'fields and values that nobody knows are let pass': async (kit) => {
    await kit.create('a', 'b');
    const { dialect, proxy } = kit.target;
    proxy.add({ ...dialect.reads, fault: { kind: 'rewrite', answer: (answer) => dialect.withUnknownFields(answer) } });
    const items = await kit.readAll();
    expect(items.map((item) => item.item)).toEqual([kit.item(), kit.item()]);
  },
});

function brokenReading(fault: ProxyFault): ContractCase['run'] {
  return async (kit) => {
    await kit.create('a', 'b');
    kit.target.proxy.add({ ...kit.target.dialect.reads, fault });
    await expect(kit.readAll()).rejects.toMatchObject({ name: 'MirrorError', retry: 'later' });
    expect(await kit.readAll()).toHaveLength(2);
  };
}
