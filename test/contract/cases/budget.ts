import { expect } from 'vitest';
import { paced } from '../../support/pace.ts';
import { group } from '../contract-case.ts';
import { deleteOperation, updateOperation, written } from '../contract-kit.ts';
import { required } from './batches.ts';

/** The cost of work in HTTP requests and in units of the vendor, compared with the formula. */
export const budget = group('request budget and paging', {
  'creates, updates and deletes cost no more requests than the formula, and are charged once': async (kit) => {
    const { dialect, proxy, supports, charged } = kit.target;
    const {
      requestsForCreates,
      requestsForUpdates = requestsForCreates,
      requestsForDeletes = requestsForCreates,
      unitsForUpdates = (count) => count,
    } = dialect;
    const n = supports.batchSize * 2 + 1;
    const expectCost = async <Result>(requests: number, work: () => Promise<Result>, units = n) => {
      proxy.forget();
      const before = charged?.();
      const result = await work();
      expect(proxy.requests.length).toBeLessThanOrEqual(requests);
      if (before !== undefined) expect(charged?.()).toBe(before + units);
      return result;
    };
    const recordIds = Array.from({ length: n }, (_, index) => `r${index}`);
    const created = await expectCost(requestsForCreates(n), () => kit.create(...recordIds));
    const changed = kit.item('Changed');
    const updates = recordIds.map((id, index) => {
      const { versionTag, remoteId } = created[index]!;
      return updateOperation(id, changed, versionTag, remoteId);
    });
    const updated = await expectCost(requestsForUpdates(n), () => kit.attempt(updates), unitsForUpdates(n));
    const deletions = updated.map((outcome) => {
      const { versionTag, remoteId } = written(outcome);
      return deleteOperation(outcome.recordId, versionTag, remoteId);
    });
    await expectCost(requestsForDeletes(n), () => kit.attempt(deletions));
    expect(await kit.objects()).toEqual([]);
  },
  'reading everything costs no more requests than the formula': async (kit) => {
    const { dialect, proxy } = kit.target;
    await kit.attempt(Array.from({ length: 60 }, (_, index) => kit.toCreate(`r${index}`)));
    proxy.forget();
    expect(await kit.readAll()).toHaveLength(60);
    expect(proxy.requests.length).toBeLessThanOrEqual(dialect.requestsForReading(60));
  },
  'the connector keeps its declared limit of parallel requests': async (kit) => {
    await kit.attempt(Array.from({ length: 40 }, (_, index) => kit.toCreate(`r${index}`)));
    await kit.readAll();
    expect(kit.target.proxy.maxInFlight).toBeLessThanOrEqual(kit.target.supports.concurrency);
  },
  'a target of several pages is read whole': async (kit) => {
    required(kit.target.dialect, 'pageLength')(4);
    await kit.attempt(Array.from({ length: 10 }, (_, index) => kit.toCreate(`r${index}`)));
    expect(new Set((await kit.readAll()).map((item) => item.key)).size).toBe(10);
  },
  'a last page that is exactly full is read whole': async (kit) => {
    required(kit.target.dialect, 'pageLength')(4);
    await kit.attempt(Array.from({ length: 8 }, (_, index) => kit.toCreate(`r${index}`)));
    expect(new Set((await kit.readAll()).map((item) => item.key)).size).toBe(8);
  },
  'an empty page with a successor is not the end': async (kit) => {
    await kit.create('a', 'b');
    required(kit.target.dialect, 'emptyFirstPage')();
    expect(await kit.readAll()).toHaveLength(2);
  },
  'a page that fails is an error, not the end': async (kit) => {
    const { dialect, proxy } = kit.target;
    required(dialect, 'pageLength')(4);
    await kit.attempt(Array.from({ length: 10 }, (_, index) => kit.toCreate(`r${index}`)));
    const pages = kit.connector
      .read(kit.target.container, null, AbortSignal.timeout(paced(60_000)))
      [Symbol.asyncIterator]();
    expect((await pages.next()).value).toHaveLength(4);
    proxy.clear();
    proxy.add({ ...dialect.reads, fault: { kind: 'answer', answer: dialect.unavailable() } });
    await expect(pages.next()).rejects.toMatchObject({ actor: 'remote', retry: 'later' });
  },
});
