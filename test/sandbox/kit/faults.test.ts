import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FaultPlan } from '../../../sandbox/kit/faults.ts';

const get = { method: 'GET', path: '/things?page=2', client: 'a' };

describe('the fault plan', () => {
  it('applies a rule to the requests that fit method, path with query, and client', () => {
    const plan = new FaultPlan();
    plan.add({ match: { method: 'get', path: 'page=2$', client: 'a' }, fault: { kind: 'cut' } });
    expect(plan.next(get)).toEqual([{ kind: 'cut' }]);
    expect(plan.next({ ...get, method: 'POST' })).toEqual([]);
    expect(plan.next({ ...get, path: '/things?page=3' })).toEqual([]);
    expect(plan.next({ ...get, client: 'b' })).toEqual([]);
  });

  it('skips the first matches and is spent after the given number', () => {
    const plan = new FaultPlan();
    plan.add({ after: 2, times: 1, fault: { kind: 'cut' } });
    expect([1, 2, 3, 4].map(() => plan.next(get).length)).toEqual([0, 0, 1, 0]);
    expect(plan.list()).toMatchObject([{ matched: 3, applied: 1 }]);
  });

  it('adds up latencies and stops at the first other fault', () => {
    const plan = new FaultPlan();
    plan.add(
      { fault: { kind: 'latency', ms: 1 } },
      { fault: { kind: 'latency', ms: 2 } },
      { fault: { kind: 'status', status: 503 } },
      { fault: { kind: 'cut' } },
    );
    expect(plan.next(get).map((fault) => fault.kind)).toEqual(['latency', 'latency', 'status']);
  });

  it('leaves kinds that it does not know to the sandbox, without using them up', () => {
    const plan = new FaultPlan();
    plan.add({ times: 1, fault: { kind: 'truncate-list', keep: 3 } });
    expect(plan.next(get)).toEqual([]);
    expect(plan.active('other-kind', get)).toBeUndefined();
    expect(plan.active('truncate-list', get)).toEqual({ kind: 'truncate-list', keep: 3 });
    expect(plan.active('truncate-list', get)).toBeUndefined();
  });

  it('removes by id, replaces a rule with the same id, and clears', () => {
    const plan = new FaultPlan();
    const [id] = plan.add({ fault: { kind: 'cut' } });
    plan.add({ id: 'mine', fault: { kind: 'cut' } });
    plan.add({ id: 'mine', fault: { kind: 'html' } });
    expect(plan.list()).toHaveLength(2);
    expect(plan.remove(id!)).toBe(true);
    expect(plan.remove(id!)).toBe(false);
    expect(plan.next(get)).toEqual([{ kind: 'html' }]);
    plan.clear();
    expect(plan.list()).toEqual([]);
  });

  it('refuses a rule without a kind', () => {
    expect(() => new FaultPlan().add(JSON.parse('{}'))).toThrow(TypeError);
  });

  it('draws a share of the requests, the same ones for the same seed', () => {
    fc.assert(
      fc.property(fc.integer(), fc.double({ min: 0.1, max: 0.9, noNaN: true }), (seed, rate) => {
        const hits = (): boolean[] => {
          const plan = new FaultPlan(seed);
          plan.add({ rate, fault: { kind: 'cut' } });
          return Array.from({ length: 2000 }, () => plan.next(get).length === 1);
        };
        const first = hits();
        expect(hits()).toEqual(first);
        expect(Math.abs(first.filter(Boolean).length / 2000 - rate)).toBeLessThan(0.08);
      }),
      { numRuns: 20 },
    );
  });
});
