import type { Context } from './call.ts';
import { HubSpotError, invalidInput } from './errors.ts';
import type { ObjectType } from './object-types.ts';
import type { StoredRecord } from './record-store.ts';
import type { Values } from './records.ts';

/** Versions that enforce properties which administrators made required. */
const ENFORCING = '/2026-09/';

/**
 * Checks the properties that administrators made required (developers.hubspot.com, changelog, write validation).
 * @throws HubSpotError 400 if the record would lack a required value
 * @param found the record that is changed
 */
export function checkRules(
  { world, url }: Context,
  type: ObjectType,
  values: Values,
  found: StoredRecord | undefined,
): void {
  if (!url.includes(ENFORCING)) {
    return;
  }
  const after: Values = { ...found?.properties, ...values };
  for (const rule of world.rules.filter(({ object }) => object === type.name)) {
    const isLacking = (after[rule.property] ?? '') === '';
    const context = { propertyName: [rule.property] };
    if (rule.when === 'created') {
      if (!found && isLacking) {
        const message = `A value for ${rule.property} must be provided`;
        const errors = [{ code: 'MISSING_REQUIRED_PROPERTY', message, context }];
        throw invalidInput('The property values provided are invalid', { errors });
      }
    } else if ('is' in rule && after[rule.when] === rule.is && isLacking) {
      const message = `${rule.property} is required because of a conditional property rule based on [${rule.when}]`;
      throw invalidInput('The property values provided are invalid', {
        errors: [{ code: 'MISSING_CONDITIONAL_REQUIRED_PROPERTY', message, context }],
      });
    }
  }
}

/** Throws HubSpotError 400 if the app acts for a user without permission to associate records. */
export function checkMayJoin({ world, url, caller }: Context): void {
  if (url.includes(ENFORCING) && caller.kind === 'oauth' && !world.settings.editAssociations) {
    throw new HubSpotError(400, 'VALIDATION_ERROR', "Missing 'Edit Associations' permission.");
  }
}
