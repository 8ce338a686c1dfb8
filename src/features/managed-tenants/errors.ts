import { MirrorError } from '../../core/model/errors.ts';
import { message, type Text } from '../../messages/message.ts';

/** Returns the error for an unknown managed tenant. */
export function noSuchTenant(tenant: string): MirrorError {
  return tenantRefusal('no-such-tenant', message('no-such-tenant', { id: tenant }), {
    remedy: 'clinic-mirror tenants list',
  });
}

/** Returns the error for an existing tenant, which was not added. */
export function tenantExists(tenant: string): MirrorError {
  return tenantRefusal('tenant-exists', message('managed.exists', { tenant }), {
    remedy: message('managed.exists.remedy'),
  });
}

/** Returns the error for a change without a revision, which was not made. */
export function revisionMissing(tenant: string): MirrorError {
  return tenantRefusal('revision-missing', message('managed.revision-missing'), {
    actor: 'conflict',
    remedy: message('managed.revision-missing.remedy', { tenant }),
  });
}

/** Returns the error for an outdated revision, whose change was not made. */
export function revisionChanged(tenant: string): MirrorError {
  return tenantRefusal('revision-changed', message('managed.revision-changed', { tenant }), {
    actor: 'conflict',
    remedy: message('managed.revision-changed.remedy'),
  });
}

/** Returns the error for a refused change of a managed tenant. Without `actor`, the caller must choose a different name or revision. */
export function tenantRefusal(
  code: string,
  text: Text,
  { remedy, actor = 'settings' }: { remedy: Text; actor?: 'settings' | 'conflict' },
): MirrorError {
  return new MirrorError(text, { actor, code, retry: 'never', remedy });
}
