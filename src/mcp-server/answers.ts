import type { z } from 'zod';
import { explain } from '../control/explain.ts';
import { tenantHealth } from '../control/health.ts';
import { listHolds } from '../control/holds.ts';
import type { Installation } from '../control/installation.ts';
import type { Status } from '../control/status-view.ts';
import type { Statuses } from '../control/statuses.ts';
import { listRuns } from '../control/undo.ts';
import { problemsWithin } from '../model/problems.ts';
import type { Standing } from '../model/standing.ts';
import type { Instant } from '../model/time.ts';
import type * as schemas from './schemas.ts';

type Answer<Shape extends z.ZodRawShape> = z.input<z.ZodObject<Shape>>;

/*
 * What the verbs of control/ know, less what may tell of a patient: ids of records are counted, and times of appointments, agendas and what
 * entries say are left out. Whoever asks may hand an answer on to anybody.
 */

/** What tells where clinics stand. */
export interface StatusDesk {
  installation: Installation;
  statuses: Statuses;
}

async function statusOf({ installation, statuses }: StatusDesk, only: string | undefined): Promise<Status> {
  return only === undefined ? (await statuses.read(installation)).status : await statuses.ofTenant(installation, only);
}

/** Where clinics and their targets stand. */
export async function tellStatus(desk: StatusDesk, only: string | undefined): Promise<Answer<typeof schemas.status>> {
  const { at, tenants, problems } = await statusOf(desk, only);
  const clinics = tenants.map(({ tenant, paused, lastRun, targets, ...standing }) => ({
    ...{ tenant, paused, ...toldOf(standing), lastCycleAt: told(lastRun?.finishedAt ?? null) },
    targets: targets.map(({ target, connector, state, failure, ...each }) => ({
      ...{ target, connector, state, ...toldOf(each), code: failure?.code ?? null },
    })),
    problems: problemsWithin(problems, (each) => each === tenant).length,
  }));
  return { at: toldAt(at), clinics };
}

function toldOf({ inStep, canGoOn, inSyncAsOf, firstSync, pending, failing, held }: Standing) {
  return { inStep, canGoOn, inSyncAsOf: told(inSyncAsOf), firstSync, pending, failing, held };
}

/** What is the matter. */
export async function tellProblems(
  desk: StatusDesk,
  only: string | undefined,
): Promise<Answer<typeof schemas.problems>> {
  const { at, problems } = await statusOf(desk, only);
  return {
    at: toldAt(at),
    problems: problems.map(({ sinceAt, breaksAt, nextTryAt, clinics, ...problem }) => ({
      ...problem,
      ...(clinics === undefined ? {} : { clinics: [...clinics] }),
      ...{ sinceAt: told(sinceAt), breaksAt: told(breaksAt), nextTryAt: told(nextTryAt) },
    })),
  };
}

/** One appointment's story. */
export async function tellExplain(
  installation: Installation,
  tenant: string,
  appointment: string,
  signal: AbortSignal,
): Promise<Answer<typeof schemas.explain>> {
  const { source, targets } = await explain(installation, tenant, appointment, signal);
  return {
    ...{ tenant, appointment },
    source: {
      state: source.state,
      status: source.state === 'there' ? source.status : null,
      code: source.state === 'unusable' || source.state === 'unknown' ? source.code : null,
    },
    targets: targets.map(({ target, connector, decision, link, byHand, pending, holds, failure }) => ({
      ...{ target, connector, ...decision, isThere: link !== null, failure },
      byHand: byHand === null ? null : byHand.done,
      pending:
        pending === null
          ? null
          : {
              ...{ reason: pending.reason, want: pending.want, attempts: pending.attempts },
              ...{ lastError: pending.lastError ?? null, dueAt: told(pending.dueAt) },
            },
      holds: holds.map(({ id, state }) => `${id}: ${state}`),
    })),
  };
}

/** What is held, in numbers. */
export async function tellHolds(
  installation: Installation,
  only: string | undefined,
): Promise<Answer<typeof schemas.holds>> {
  const holds = await listHolds(installation, only);
  return {
    holds: holds.map(({ tenant, target, id, kind, state, recordIds, createdAt, expiresAt }) => ({
      ...{ tenant, target, id, kind, state, changes: recordIds.length },
      ...{ createdAt: told(createdAt), expiresAt: told(expiresAt) },
    })),
  };
}

/** Where the records of targets stand, in numbers. */
export async function tellHealth(
  installation: Installation,
  tenant: string,
  only: string | undefined,
  signal: AbortSignal,
): Promise<Answer<typeof schemas.health>> {
  const view = await tenantHealth(installation, tenant, { target: only, progress: () => {} }, signal);
  return {
    ...{ tenant, asOf: toldAt(view.asOf) },
    targets: view.targets.map((health) => {
      const { target, connector, stream, inSync, pending, held, changedByHand, excluded, failing, unread } = health;
      const failures: Record<string, number> = {};
      for (const { why } of failing) failures[why] = (failures[why] ?? 0) + 1;
      const numbers = { inSync, pending, held, changedByHand, excluded: excluded.counts, failing: failures };
      return { target, connector, stream, ...numbers, unread };
    }),
  };
}

/** What runs changed, in numbers. */
export async function tellRuns(
  installation: Installation,
  only: string | undefined,
): Promise<Answer<typeof schemas.runs>> {
  const runs = await listRuns(installation, only);
  return { runs: runs.map(({ at, ...run }) => ({ ...run, at: told(at) })) };
}

function told(at: Instant | null): string | null {
  return at === null ? null : toldAt(at);
}

function toldAt(at: Instant): string {
  return new Date(at).toISOString();
}
