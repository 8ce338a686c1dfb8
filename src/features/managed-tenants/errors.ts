import { message, type Text } from '../../messages/message.ts';
import { MirrorError } from '../../model/errors.ts';

/** There is no managed tenant of this name. */
export function noSuchTenant(tenant: string): MirrorError {
  return tenantRefusal('no-such-tenant', message('no-such-tenant', { id: tenant }), {
    remedy: 'clinic-mirror tenants list',
  });
}

/** There is one already: nothing was added. */
export function tenantExists(tenant: string): MirrorError {
  return tenantRefusal('tenant-exists', message('managed.exists', { tenant }), {
    remedy: message('managed.exists.remedy'),
  });
}

/** The change names no revision: nothing was changed. */
export function revisionMissing(tenant: string): MirrorError {
  return tenantRefusal('revision-missing', message('managed.revision-missing'), {
    actor: 'conflict',
    remedy: message('managed.revision-missing.remedy', { tenant }),
  });
}

/** Another revision is stored by now: nothing was changed. */
export function revisionChanged(tenant: string): MirrorError {
  return tenantRefusal('revision-changed', message('managed.revision-changed', { tenant }), {
    actor: 'conflict',
    remedy: message('managed.revision-changed.remedy'),
  });
}

/** A change of a managed tenant that was not made. Without `actor` the caller has to name something else. */
export function tenantRefusal(
  code: string,
  text: Text,
  { remedy, actor = 'settings' }: { remedy: Text; actor?: 'settings' | 'conflict' },
): MirrorError {
  return new MirrorError(text, { actor, code, retry: 'never', remedy });
}
