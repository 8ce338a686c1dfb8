import { beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { addFeatureMetrics } from '../../../src/features/metrics.ts';
import { listTriggers, reopenEndpoint } from '../../../src/features/triggers/triggers.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { renderTriggers } from '../../../src/operator/cli/render-triggers.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import { status } from '../../../src/operator/control/status.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { report, told, usePortal } from './trigger-world.ts';

const QUIETLY = () => {};
const redis = useRedis();
const ID = 'studio-rossi';
const portal = usePortal(redis, { mostAtOnce: 3 });
beforeEach(async () => void (await portal.world.turn()));

const installation = () => openInstallation({ tenants: [portal.world.open()] });
const shown = async () => renderTriggers(await listTriggers(installation(), ID));
const add = (...ids: string[]) => {
  for (const id of ids) portal.world.documents.reports.set(id, report(id));
};
const answer = (code: number) => portal.receiver.kit.faults.add({ times: 1, fault: { kind: 'status', status: code } });
function metrics(): Promise<string> {
  const all = createMetrics(installation);
  addFeatureMetrics(all);
  return all.render();
}

describe('an endpoint that is gone', () => {
  beforeEach(async () => {
    answer(410);
    add('r1');
    await portal.world.turn();
  });

  test('is shown by list, status and metrics, with the next step', async () => {
    const command = 'clinic-mirror triggers reopen studio-rossi portal';
    expect((await shown()).replaceAll(/\n */g, ' ')).toContain(command);
    const text = renderStatus(await status(installation()));
    expect(text.replaceAll(/\n */g, ' ')).toMatch(/triggers to portal: closed since .* \(webhook-gone\)/);
    expect(await metrics()).toContain(
      'clinic_mirror_trigger_endpoint_closed{tenant="studio-rossi",endpoint="portal"} 1',
    );
  });

  test('is opened by an operator, and receives all waiting messages', async () => {
    portal.world.now += DAY_MS;
    add('r2');
    await portal.world.turn();
    expect(told(portal.receiver)).toEqual([]);
    const { closed } = await reopenEndpoint(
      installation(),
      { tenant: ID, endpoint: 'portal' },
      { skip: false },
      { progress: QUIETLY, signal: NEVER },
    );
    expect(closed).toMatchObject({ code: 'webhook-gone' });
    await portal.world.advance(MINUTE_MS);
    expect(told(portal.receiver)).toHaveLength(2);
    expect(await metrics()).not.toContain('clinic_mirror_trigger_endpoint_closed{');
  });

  test('is opened and receives none of the existing documents, if an operator chooses so', async () => {
    add('r2');
    await reopenEndpoint(
      installation(),
      { tenant: ID, endpoint: 'portal' },
      { skip: true },
      { progress: QUIETLY, signal: NEVER },
    );
    await portal.world.advance(MINUTE_MS);
    add('r3');
    await portal.world.turn();
    expect(told(portal.receiver).map(({ data }) => data.reportId)).toEqual(['r3']);
  });

  test('by another name is not known', async () => {
    const opening = reopenEndpoint(
      installation(),
      { tenant: ID, endpoint: 'protal' },
      { skip: false },
      { progress: QUIETLY, signal: NEVER },
    );
    await expect(opening).rejects.toMatchObject({ code: 'no-such-endpoint', remedy: 'use one of: portal' });
  });
});

describe('too many documents at once', () => {
  beforeEach(async () => {
    add('r1', 'r2', 'r3', 'r4');
    await portal.world.turn();
    expect(told(portal.receiver)).toEqual([]);
  });

  test('are released by an operator, only once', async () => {
    expect((await shown()).replaceAll(/\n */g, ' ')).toContain('with --skip they are dropped');
    await reopenEndpoint(
      installation(),
      { tenant: ID, endpoint: 'portal' },
      { skip: false },
      { progress: QUIETLY, signal: NEVER },
    );
    await portal.world.advance(MINUTE_MS);
    expect(told(portal.receiver)).toHaveLength(4);
    add('s1', 's2', 's3', 's4');
    await portal.world.turn();
    expect(told(portal.receiver)).toHaveLength(4);
  });

  test('are discarded by an operator', async () => {
    await reopenEndpoint(
      installation(),
      { tenant: ID, endpoint: 'portal' },
      { skip: true },
      { progress: QUIETLY, signal: NEVER },
    );
    await portal.world.advance(MINUTE_MS);
    add('s1');
    await portal.world.turn();
    expect(told(portal.receiver).map(({ data }) => data.reportId)).toEqual(['s1']);
  });
});

test('a message that was parked after many refusals is retried at once on request', async () => {
  portal.receiver.kit.faults.add({ times: 13, fault: { kind: 'status', status: 404 } });
  add('r1');
  await portal.world.turn();
  await portal.world.advance(DAY_MS / 2);
  const [first] = (await listTriggers(installation(), ID)).endpoints;
  expect((first?.events[0]?.nextTryAt ?? 0) - portal.world.now).toBeGreaterThan(DAY_MS / 4);
  await reopenEndpoint(
    installation(),
    { tenant: ID, endpoint: 'portal' },
    { skip: false },
    { progress: QUIETLY, signal: NEVER },
  );
  await portal.world.advance(MINUTE_MS);
  expect(told(portal.receiver)).toHaveLength(1);
});
