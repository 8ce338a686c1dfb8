import { MirrorError } from '../../core/model/errors.ts';
import type { Progress } from '../../core/model/tasks.ts';
import type { Instant } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import { type Installation, requireTenant, settingsLocation } from '../../operator/control/installation.ts';
import { waitForLease } from '../../state/leases.ts';
import { TRIGGERS_LEASE } from './job.ts';
import type { OpenTriggers, TriggerTenant } from './ports.ts';
import type { TriggerList } from './schemas.ts';
import { endpointStatuses } from './status.ts';

/** Lists the endpoints of a tenant. @throws MirrorError `settings`, code `no-triggers` */
export async function listTriggers(installation: Installation, tenantId: string): Promise<TriggerList> {
  const { triggers } = requireTriggers(installation, tenantId);
  const { everyMinutes } = triggers.file;
  const at = installation.clock();
  return { tenant: tenantId, at, everyMinutes, endpoints: await endpointStatuses(triggers, at) };
}

/**
 * Reopens a closed endpoint, allows the documents that the operator checked, and retries waiting messages at once.
 * @param options.skip drops present documents: the next list causes no messages
 * @returns the closing, or null
 * @throws MirrorError `settings`, code `no-triggers` or `no-such-endpoint`
 */
export async function reopenEndpoint(
  installation: Installation,
  { tenant: tenantId, endpoint }: { tenant: string; endpoint: string },
  options: { skip: boolean },
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<{ closed: { code: string; at: Instant } | null }> {
  const { tenant, triggers } = requireTriggers(installation, tenantId);
  const configured = triggers.file.endpoints.get(endpoint);
  if (configured === undefined) throw noSuchEndpoint(tenantId, endpoint, [...triggers.file.endpoints.keys()]);
  const { store } = triggers;
  const waitReport = { what: message('step.wait.triggers'), report: progress };
  const lease = await waitForLease(tenant.leases, TRIGGERS_LEASE, waitReport, signal);
  try {
    const { closed } = await store.endpoint(endpoint);
    for (const event of configured.events) {
      const triggerKey = { endpoint, event };
      if (options.skip) await store.remove(triggerKey);
      else if (closed?.code === 'too-many-at-once') {
        await store.recordReading(triggerKey, { ...(await store.reading(triggerKey)), letThrough: true }, lease);
      }
      const now = tenant.clock();
      for (const entry of await store.waiting(triggerKey)) {
        if (entry.dueAt > now) await store.defer(triggerKey, { ...entry, dueAt: now }, { failed: false }, lease);
      }
    }
    await store.reopen(endpoint);
    return { closed };
  } finally {
    await lease.release();
    await triggers.wake(0, { read: true });
  }
}

function requireTriggers(installation: Installation, id: string): { tenant: TriggerTenant; triggers: OpenTriggers } {
  const tenant = requireTenant(installation, id);
  if (tenant.triggers !== null) return { tenant, triggers: tenant.triggers };
  throw new MirrorError(message('no-triggers', { id }), {
    actor: 'settings',
    code: 'no-triggers',
    retry: 'never',
    remedy: message('no-triggers.remedy', { location: settingsLocation(installation, id) }),
  });
}

function noSuchEndpoint(tenant: string, endpoint: string, endpointNames: readonly string[]): MirrorError {
  return new MirrorError(message('no-such-endpoint', { tenant, endpoint }), {
    actor: 'settings',
    code: 'no-such-endpoint',
    retry: 'never',
    remedy: message('available-names', { names: endpointNames.join(', ') }),
  });
}
