import type { Caller } from './call.ts';
import { accessDenied, GraphError, invalidRequest, resourceNotFound } from './errors.ts';
import type { Mailbox, World } from './world.ts';

/** The mailbox of `me` or of a user, when the caller may use it. Throws GraphError 400, 403 or 404. */
export function findMailbox(world: World, caller: Caller, user: string): Mailbox {
  if (user === 'me' && caller.account === undefined) {
    throw invalidRequest('/me request is only valid with delegated authentication flow.');
  }
  const mailbox = world.find(user === 'me' ? (caller.account ?? '') : user);
  if (!mailbox) {
    throw resourceNotFound();
  }
  if (!mayUse(caller, mailbox)) {
    throw accessDenied();
  }
  return mailbox;
}

/** Throws GraphError 404 MailboxNotEnabledForRESTAPI without a licence. */
export function checkLicence(mailbox: Mailbox): void {
  if (!mailbox.licensed) {
    const message = 'The mailbox is either inactive, soft-deleted, or is hosted on-premise.';
    throw new GraphError(404, 'MailboxNotEnabledForRESTAPI', message);
  }
}

function mayUse(caller: Caller, mailbox: Mailbox): boolean {
  const mail = mailbox.mail.toLowerCase();
  if (caller.account === undefined) {
    return caller.mailboxes === 'all' || caller.mailboxes.some((each) => each.toLowerCase() === mail);
  }
  const account = caller.account.toLowerCase();
  const isShared =
    caller.permissions.has('Calendars.ReadWrite.Shared') || caller.permissions.has('Calendars.Read.Shared');
  return account === mail || (isShared && mailbox.sharedWith.has(account));
}
