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
  return tenantRefusal('tenant-exists', `there is a managed tenant "${tenant}"`, {
    remedy: 'read it, and replace what it is configured as',
  });
}

/** The change names no revision: nothing was changed. */
export function revisionMissing(tenant: string): MirrorError {
  return tenantRefusal('revision-missing', 'the revision that is to be changed was not given', {
    actor: 'conflict',
    remedy: `read the configuration, and give its ETag as If-Match; with commands change what "clinic-mirror tenants export ${tenant}" prints, or give --revision`,
  });
}

/** Another revision is stored by now: nothing was changed. */
export function revisionChanged(tenant: string): MirrorError {
  return tenantRefusal('revision-changed', `the tenant "${tenant}" was changed by somebody else meanwhile`, {
    actor: 'conflict',
    remedy: 'read it again, and make the change to what it is now',
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
