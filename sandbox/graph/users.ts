import type { ApiAnswer } from '../kit/answer.ts';
import { checkQuery, type MailboxContext } from './call.ts';

/** GET /me and /users/{id}: the user's profile. Throws GraphError 400. */
export function getUser({ mailbox, query, call }: MailboxContext): ApiAnswer {
  checkQuery(query, ['$select']);
  const body = {
    '@odata.context': `${call.origin}/v1.0/$metadata#users/$entity`,
    id: mailbox.id,
    displayName: mailbox.mail,
    mail: mailbox.mail,
    userPrincipalName: mailbox.mail,
  };
  return { status: 200, body };
}
