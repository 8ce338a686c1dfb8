import { expect } from 'vitest';
import { matches } from '../../../sandbox/kit/fault-proxy.ts';
import { SECOND_MS } from '../../../src/core/model/time.ts';
import { targetBackoffMs } from '../../../src/engine/retry.ts';
import { BEGIN, FORMS, LIMIT_MS } from '../../support/limit-forms.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { describeOutcome, failure } from '../contract-kit.ts';

/** A server that demands a pause: the connector reports the pause and does not wait itself. */
export const throttling = group('throttling and outages', {
  'a rate limit with seconds is passed on as a wait': throttled(() => '120', 120),
  'a rate limit with a date is passed on as a wait': throttled(
    () => new Date(Date.now() + 90 * SECOND_MS).toUTCString(),
    90,
  ),
  'a rate limit without a time is passed on to be tried later': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: answer(kit.target.dialect.throttled(null)) });
    const error = failure((await kit.attempt([kit.toCreate('a')]))[0]);
    expect(error).toMatchObject({ actor: 'remote', retry: 'later' });
    expect(error.retryAfterMs ?? SECOND_MS).toBeGreaterThanOrEqual(SECOND_MS);
    expect(describeOutcome((await kit.attempt([kit.toCreate('a')]))[0])).toBe('written created');
  },
  'a limit of 20 seconds told in seconds refuses two requests at most': lastsThrough('Retry-After in seconds'),
  'a limit of 20 seconds told as a date by a clock 3 h ahead refuses two requests at most':
    lastsThrough('a date, clock 3 h ahead'),
  'a limit of 20 seconds told in epoch seconds refuses two requests at most': lastsThrough(
    'X-RateLimit-Reset in epoch seconds',
  ),
  'a limit of 20 seconds that names no wait refuses two requests at most': lastsThrough('no header'),
  'a rate limit during a read is an error, not an empty target': async (kit) => {
    await kit.create('a');
    kit.target.proxy.add({ ...kit.target.dialect.reads, fault: answer(kit.target.dialect.throttled('60')) });
    await expect(kit.readAll()).rejects.toMatchObject({
      actor: 'remote',
      retry: 'later',
      retryAfterMs: 60 * SECOND_MS,
    });
    expect(await kit.readAll()).toHaveLength(1);
  },
  'a server failing is tried later, and the work may have been done': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: answer(kit.target.dialect.unavailable()) });
    const error = failure((await kit.attempt([kit.toCreate('a')]))[0]);
    expect(error).toMatchObject({ actor: 'remote', retry: 'later', ambiguous: true });
    expect(describeOutcome((await kit.attempt([kit.toCreate('a')]))[0])).toBe('written created');
  },
  'a server failure during a read is an error, not an empty target': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.reads, fault: answer(kit.target.dialect.unavailable()) });
    await expect(kit.readAll()).rejects.toMatchObject({ actor: 'remote', retry: 'later' });
  },
  'a latency within the time limit changes nothing': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'latency', ms: 100 } });
    expect(describeOutcome((await kit.attempt([kit.toCreate('a')]))[0])).toBe('written created');
  },
  'a stopped call ends soon and can be sent again': async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'stall' } });
    const stop = new AbortController();
    const call = kit.connector.apply(kit.target.container, [kit.toCreate('a')], stop.signal);
    await expect.poll(() => kit.target.server.objects()).toHaveLength(1);
    stop.abort();
    await expect(call).rejects.toMatchObject({ actor: 'remote', retry: 'later' });
    expect(describeOutcome((await kit.attempt([kit.toCreate('a')]))[0])).toBe('written adopted');
    expect(await kit.objects()).toHaveLength(1);
  },
});

function throttled(retryAfter: () => string, seconds: number): ContractCase['run'] {
  return async (kit) => {
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: answer(kit.target.dialect.throttled(retryAfter())) });
    const error = failure((await kit.attempt([kit.toCreate('a')]))[0]);
    expect(error).toMatchObject({ actor: 'remote', retry: 'later', ambiguous: false });
    expect(error.retryAfterMs).toBeGreaterThan((seconds - 5) * SECOND_MS);
    expect(error.retryAfterMs).toBeLessThanOrEqual(seconds * SECOND_MS);
    const writes = kit.target.proxy.requests.filter((request) => matches(kit.target.dialect.writes, request));
    expect(writes.length, 'the connector itself does not insist').toBeLessThanOrEqual(2);
    expect(describeOutcome((await kit.attempt([kit.toCreate('a')]))[0])).toBe('written created');
  };
}

/** Expects that a target whose lane pauses after each refusal writes soon after the limit ended. */
function lastsThrough(form: string): ContractCase['run'] {
  return async (kit) => {
    const { proxy, dialect } = kit.target;
    const firstAt = BEGIN + 300;
    let now = firstAt;
    proxy.forget();
    while (now < BEGIN + LIMIT_MS) {
      const { headers, ...refusal } = dialect.throttled(null);
      const told = { ...headers, date: new Date(now).toUTCString(), ...FORMS[form]?.(now) };
      proxy.clear();
      proxy.add({ ...dialect.writes, times: 100, fault: answer({ ...refusal, headers: told }) });
      const error = failure((await kit.attempt([kit.toCreate('a')]))[0]);
      now += 50 + targetBackoffMs(error, () => 0.5, now - firstAt);
    }
    const refused = proxy.requests.filter((request) => matches(dialect.writes, request));
    expect(refused.length, 'refused requests').toBeLessThanOrEqual(2);
    expect(now - BEGIN - LIMIT_MS, 'wait after the end').toBeLessThanOrEqual(10 * SECOND_MS);
    proxy.clear();
    expect(describeOutcome((await kit.attempt([kit.toCreate('a')]))[0])).toBe('written created');
  };
}

function answer(made: ReturnType<import('../contract-target.ts').ContractDialect['unavailable']>) {
  return { kind: 'answer', answer: made } as const;
}
