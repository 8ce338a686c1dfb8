/** The verbs of `acts.ts` that concern how tenants are configured. Each is planned first: what has faults was no act. */
import { createHash } from 'node:crypto';
import type { ActVerb } from '../model/acts.ts';
import { type ApprovalSettings, loosensApprovals } from '../settings/approval-schema.ts';
import * as tenants from './managed-tenants.ts';
import { type ActAbout, type Acting, recordAct } from './recording.ts';

/** @see tenants.planAddition */
export async function addTenant(
  acting: Acting,
  desk: tenants.ConfigurationDesk,
  tenant: string,
  wanted: tenants.WantedDocument,
): Promise<tenants.TenantChanged> {
  return change(acting, desk, 'add-tenant', await tenants.planAddition(desk, tenant, wanted));
}

/** @see tenants.planReplacement */
export async function replaceTenant(
  acting: Acting,
  desk: tenants.ConfigurationDesk,
  tenant: string,
  wanted: tenants.WantedDocument,
  revision: string,
): Promise<tenants.TenantChanged> {
  return change(acting, desk, 'replace-tenant', await tenants.planReplacement(desk, tenant, wanted, revision));
}

/** @see tenants.planRemoval */
export async function removeTenant(
  acting: Acting,
  desk: tenants.ConfigurationDesk,
  tenant: string,
  revision: string,
): Promise<tenants.TenantChanged> {
  return change(acting, desk, 'remove-tenant', await tenants.planRemoval(desk, tenant, revision));
}

/** @see tenants.planAdoption */
export async function adoptTenant(
  acting: Acting,
  desk: tenants.ConfigurationDesk,
  tenant: string,
): Promise<tenants.TenantChanged> {
  return change(acting, desk, 'adopt-tenant', await tenants.planAdoption(desk, tenant));
}

function change(
  acting: Acting,
  desk: tenants.ConfigurationDesk,
  verb: ActVerb,
  planned: tenants.TenantChange,
): Promise<tenants.TenantChanged> {
  const { tenant, content, before, revision } = planned;
  const subject = createHash('sha256')
    .update(JSON.stringify([content, revision]))
    .digest('base64url');
  // Removed and added again, it would have lost its rules too.
  const isLoosened = before !== null && loosensApprovals(JSON.parse(before.json), JSON.parse(content?.json ?? '{}'));
  const hasRules = ({ holdsAbove, forget, restore }: ApprovalSettings) => holdsAbove !== undefined || forget || restore;
  const about: ActAbout = {
    ...{ verb, tenant, what: { revision, secrets: Object.keys(content?.secrets ?? {}).length } },
    second: { subject, isNeeded: (policy) => policy.configuration || (isLoosened && hasRules(policy)) },
  };
  return recordAct(
    acting,
    about,
    () => tenants.changeTenant(desk, planned),
    ({ revision: now }) => ({ now }),
  );
}
