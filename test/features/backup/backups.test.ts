import { expect, test } from 'vitest';
import { acceptLoss, restoreBackup } from '../../../src/features/backup/backups.ts';
import { createApprovalStore } from '../../../src/state/stored-documents.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { openActing, person } from '../../operator/control/acting.ts';
import { openBooked } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();

test('a restore requires two operators with the same backup', async () => {
  const store = createApprovalStore(redis.connect(), 'studio-rossi', Buffer.alloc(32, 7), () => NOW);
  const { installation } = openBooked(redis);
  const restored: string[] = [];
  const backups = {
    backup: async () => '',
    async restore(_: string, text: string) {
      restored.push(text);
      return { restored: [], unchanged: [], protections: 0, pins: 0, rejections: 0, at: NOW };
    },
  };
  const as = (who: string) => openActing({ who: person(who), store, policy: { restore: true } });
  const give = (who: string, text: string) => restoreBackup(as(who), { installation, backups }, 'studio-rossi', text);
  await expect(give('anna', 'one')).rejects.toMatchObject({ code: 'second-person-needed' });
  await expect(give('bruno', 'another')).rejects.toMatchObject({ code: 'second-person-needed' });
  expect(restored).toEqual([]);
  await give('bruno', 'one');
  expect(restored).toEqual(['one']);
});

test('a removed managed tenant is added once with its previous document before its backup is restored', async () => {
  const { installation, tenant } = openBooked(redis);
  const steps: string[] = [];
  const lacking = { ...installation, tenants: new Map() };
  const managed = {
    contentIn: () => ({ text: 'zone: Europe/Rome' }) as never,
    async add(_: unknown, id: string) {
      steps.push(`added ${id}`);
      lacking.tenants.set(id, tenant);
    },
  };
  const backups = {
    managed,
    backup: async () => '',
    async restore(id: string) {
      steps.push(`restored ${id}`);
      return { restored: ['google'], unchanged: [], protections: 2, pins: 1, rejections: 0, at: NOW };
    },
  };
  const acting = openActing();
  const restore = () => restoreBackup(acting, { installation: lacking, backups }, tenant.id, 'sealed');
  await restore();
  await restore();
  expect(steps).toEqual(['added studio-rossi', 'restored studio-rossi', 'restored studio-rossi']);
  expect(acting.recorded[1]).toMatchObject({
    ...{ verb: 'restore', outcome: 'done' },
    what: { logins: 1, unchanged: 0, protections: 2, pins: 1 },
  });
});

test('no-such-tenant: a tenant of a file that is not there is not added by its backup', async () => {
  const { installation } = openBooked(redis);
  const restored: string[] = [];
  const backups = { backup: async () => '', restore: async (id: string) => restored.push(id) as never };
  const restoring = restoreBackup(openActing(), { installation, backups }, 'studio-bianchi', 'sealed');
  await expect(restoring).rejects.toMatchObject({ code: 'no-such-tenant' });
  expect(restored).toEqual([]);
});

test('acceptLoss requests a cycle if it ended an uncertain state, and none otherwise', async () => {
  const { installation, tenant } = openBooked(redis);
  let isUncertain = true;
  const protection = {
    ...tenant.protection,
    async accept() {
      const was = isUncertain;
      isUncertain = false;
      return was;
    },
  };
  const world = { ...installation, tenants: new Map([[tenant.id, { ...tenant, protection }]]) };
  expect(await acceptLoss(world, tenant.id)).toEqual({ tenant: tenant.id, changed: true });
  expect(await acceptLoss(world, tenant.id)).toEqual({ tenant: tenant.id, changed: false });
  expect(installation.pulled).toEqual([tenant.id]);
});
