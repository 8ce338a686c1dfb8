import { expect } from 'vitest';
import type { Authorizer } from '../../../src/connectors/connector.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { containerOf } from '../../support/container-of.ts';
import { group } from '../contract-case.ts';
import { type AnyKit, describeOutcome, failure, signal } from '../contract-kit.ts';

/** An access token that expired, and a connection that was revoked. */
export const authorization = group('authorization', {
  'an expired access token is renewed once and the write succeeds': async (kit) => {
    const { authorizer, renewals } = counting(kit);
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: unauthorized(kit) });
    const [outcome] = await kit.attempt([kit.toCreate('a')], kit.worker({ authorizer }));
    expect(describeOutcome(outcome)).toBe('written created');
    expect(renewals()).toBe(1);
  },
  'an expired access token is renewed once and the read succeeds': async (kit) => {
    await kit.create('a');
    const { authorizer, renewals } = counting(kit);
    kit.target.proxy.add({ ...kit.target.dialect.reads, fault: unauthorized(kit) });
    expect(await kit.readAll(kit.worker({ authorizer }))).toHaveLength(1);
    expect(renewals()).toBe(1);
  },
  'a permanently refused connection requires an operator after one renewal': async (kit) => {
    const { authorizer, renewals } = counting(kit);
    kit.target.proxy.add({ times: Number.POSITIVE_INFINITY, fault: unauthorized(kit) });
    const worker = kit.worker({ authorizer });
    kit.target.proxy.forget();
    const [outcome] = await kit.attempt([kit.toCreate('a')], worker);
    expect(failure(outcome)).toMatchObject({ actor: 'authorization', retry: 'never' });
    expect(renewals()).toBe(1);
    expect(kit.target.proxy.requests.length).toBeLessThanOrEqual(2);
    await expect(kit.readAll(worker)).rejects.toMatchObject({ actor: 'authorization', retry: 'never' });
    await expect(containerOf(worker, null, signal())).rejects.toMatchObject({ actor: 'authorization' });
  },
  'a connection without tokens costs no request': async (kit) => {
    const error = new MirrorError('connect again', { actor: 'authorization', code: 'expired', retry: 'never' });
    const refuse = () => Promise.reject(error);
    const worker = kit.worker({ authorizer: { header: refuse, renew: refuse, quotaUser: null } });
    kit.target.proxy.forget();
    const { actor, code, message } = error;
    await expect(worker.apply(kit.target.container, [kit.toCreate('a')], signal())).rejects.toMatchObject({
      ...{ actor, code, message },
    });
    await expect(kit.readAll(worker)).rejects.toBe(error);
    expect(kit.target.proxy.requests).toEqual([]);
  },
  'a revoked permission requires an operator and is not retried': async (kit) => {
    kit.target.proxy.add({ times: Number.POSITIVE_INFINITY, fault: forbidden(kit) });
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    const error = failure(outcome);
    expect(['authorization', 'settings']).toContain(error.actor);
    expect(error.retry).toBe('never');
    expect(kit.target.proxy.requests.length).toBeLessThanOrEqual(2);
    await expect(kit.readAll()).rejects.toMatchObject({ retry: 'never' });
  },
});

function unauthorized(kit: AnyKit) {
  return { kind: 'answer', answer: kit.target.dialect.unauthorized() } as const;
}

function forbidden(kit: AnyKit) {
  return { kind: 'answer', answer: kit.target.dialect.forbidden() } as const;
}

function counting(kit: AnyKit): { authorizer: Authorizer; renewals: () => number } {
  const { authorizer } = kit.target;
  let count = 0;
  return {
    renewals: () => count,
    authorizer: {
      ...authorizer,
      renew(abort) {
        count += 1;
        return authorizer.renew(abort);
      },
    },
  };
}
