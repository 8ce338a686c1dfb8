/** The verbs of `acts.ts` that concern how tenants are configured. Each is planned first: what has faults was no act. */
import { createHash } from 'node:crypto';
import type { ActVerb } from '../model/acts.ts';
import { type ApprovalSettings, approvalsWith, loosensApprovals } from '../settings/approval-schema.ts';
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

/** As weighty as a removal: nobody knows what it replaces. @see tenants.acceptAsStored */
export async function acceptTenant(
  acting: Acting,
  desk: tenants.ConfigurationDesk,
  tenant: string,
  revision: string,
): Promise<tenants.TenantChanged> {
  const planned = await tenants.planRemoval(desk, tenant, revision);
  return change(acting, desk, 'accept-tenant', planned, tenants.acceptAsStored);
}

function change(
  acting: Acting,
  desk: tenants.ConfigurationDesk,
  verb: ActVerb,
  planned: tenants.TenantChange,
  make = tenants.changeTenant,
): Promise<tenants.TenantChanged> {
  const { tenant, content, revision } = planned;
  const subject = createHash('sha256')
    .update(JSON.stringify([content, revision]))
    .digest('base64url');
  const about: ActAbout = {
    ...{ verb, tenant, what: { revision, secrets: Object.keys(content?.secrets ?? {}).length } },
    second: { subject, isNeeded: (policy) => needsSecond(planned, policy) },
  };
  return recordAct(
    acting,
    about,
    () => make(desk, planned),
    ({ revision: now }) => ({ now, counter: desk.store.counter() }),
  );
}

/** @param policy of the tenant as it runs: one that is set aside has its own rules in what is stored of it alone */
function needsSecond({ content, before, revision }: tenants.TenantChange, policy: ApprovalSettings): boolean {
  if (before === null) {
    // What does not open may hold any rule.
    const mayHide = revision !== null && (policy.forget || policy.restore || policy.holdsAbove !== undefined);
    return policy.configuration || mayHide;
  }
  const document: unknown = JSON.parse(before.json);
  const strict = approvalsWith(policy, document);
  const hasRules = strict.holdsAbove !== undefined || strict.forget || strict.restore;
  // Removed and added again, it would have lost its rules too.
  return strict.configuration || (hasRules && loosensApprovals(document, JSON.parse(content?.json ?? '{}')));
}
