import { beforeEach, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { addFeatureMetrics } from '../../../src/features/metrics.ts';
import { listTriggers } from '../../../src/features/triggers/triggers.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { renderTriggers } from '../../../src/operator/cli/render-triggers.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import { status } from '../../../src/operator/control/status.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { usePortal } from './trigger-world.ts';

const redis = useRedis();
const ID = 'studio-rossi';
const portal = usePortal(redis, { mostAtOnce: 3 });
beforeEach(async () => void (await portal.world.turn()));

const installation = () => openInstallation({ tenants: [portal.world.open()] });
const shown = async () => renderTriggers(await listTriggers(installation(), ID));
function metrics(): Promise<string> {
  const all = createMetrics(installation);
  addFeatureMetrics(all);
  return all.render();
}

test('status and metrics show an event as off if its list must not be read', async () => {
  const denied = { actor: 'authorization', code: 'missing-claim', retry: 'never', remedy: 'log in again' } as const;
  portal.world.documents.errors.reports = new MirrorError('the connection lacks a scope', denied);
  await portal.world.turn();
  const text = renderStatus(await status(installation())).replaceAll(/\n */g, ' ');
  expect(text).toContain('not readable, trigger off: report.available to portal (missing-claim); log in again');
  expect(await metrics()).toContain(
    'clinic_mirror_trigger_off{tenant="studio-rossi",endpoint="portal",event="report.available"} 1',
  );
  expect(await shown()).toMatch(/portal +report\.available +off/);
});
