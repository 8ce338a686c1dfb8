import { expect, test } from 'vitest';
import { useRedis } from '../../../../support/redis.ts';
import { OWNER, openActsPages } from '../open-pages.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const addressOf = (run: string) => `/tenants/${TENANT}/runs/${run}/undo`;

test('what an undo would do is shown first, with the proof that its button sends, and changes nothing', async () => {
  const { see, changedRun, recorded } = await openActsPages(redis.connect());
  const address = addressOf(await changedRun());
  const page = await see(address);
  expect(page).toContain(`<form class="stack" method="post" action="${address}">`);
  expect(page).toContain(`name="csrf" value="${OWNER.csrf}"`);
  expect(page).toContain(`href="/tenants/${TENANT}/explain?id=1"`);
  expect(recorded).toEqual([]);
});

test('what was undone is shown without a button, and says until when rules do not change it', async () => {
  const { post, changedRun, recorded } = await openActsPages(redis.connect());
  const { statusCode, body } = await post(addressOf(await changedRun()));
  expect(statusCode).toBe(200);
  expect(body).toMatch(/Restored [01] of 1 record|Nothing was restored: 0 of 1 record/);
  expect(body).toContain(`href="/tenants/${TENANT}/explain?id=1"`);
  expect(body).not.toContain('class="button main"');
  expect(recorded.map(({ verb, outcome }) => `${verb} ${outcome}`)).toEqual(['undo begun', 'undo done']);
});

test('an undo requires a reason if configured, and does nothing without it', async () => {
  const { see, post, changedRun, recorded } = await openActsPages(redis.connect(), { acting: { reasonFor: ['undo'] } });
  const address = addressOf(await changedRun());
  expect(await see(address)).toContain('name="why" required');
  expect((await post(address)).body).toContain('reason-missing');
  expect(recorded.filter(({ outcome }) => outcome === 'done')).toEqual([]);
});

test('a viewer sees no undo, and has none done', async () => {
  const { app, post, changedRun, recorded } = await openActsPages(redis.connect(), {
    visitor: { ...OWNER, level: 'viewer' },
  });
  const address = addressOf(await changedRun());
  expect([(await app.inject({ url: address })).statusCode, (await post(address)).statusCode]).toEqual([403, 403]);
  expect(recorded).toEqual([]);
});
