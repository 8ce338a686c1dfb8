import { expect, test } from 'vitest';
import { createClinicTenantStore } from '../../src/domain/clinic-tenant.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

test('the first binding of a tenant stays, until an operator chooses another one', async () => {
  const open = (tenant: string) =>
    createClinicTenantStore(redis.connect(), tenant, createProofSealer(Buffer.alloc(32, 1), tenant));
  const store = open('studio-rossi');
  expect(await store.read()).toBeNull();
  const bound = await Promise.all(['first', 'second', 'third'].map((id) => store.bind(id, false)));
  expect(new Set(bound).size).toBe(1);
  expect(await open('studio-rossi').read()).toBe(bound[0]);
  expect(await store.bind('chosen', true)).toBe('chosen');
  expect(await store.bind('first', false)).toBe('chosen');
  expect(await open('studio-bianchi').read()).toBeNull();
});
