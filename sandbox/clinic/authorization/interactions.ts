import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Accounts } from './accounts.ts';
import type { InteractionDetails, Provider } from './engine.ts';
import { consentPage, loginPage } from './pages.ts';

/** One step of a sign-in: the request, its parsed form and the response to write. */
export interface InteractionExchange {
  request: IncomingMessage;
  response: ServerResponse;
  form: URLSearchParams;
}

/** Serves the paths that begin with `/interaction/<uid>`: sign-in, consent and refusal as plain HTML forms. */
export async function answerInteraction(
  provider: Provider,
  accounts: Accounts,
  exchange: InteractionExchange,
): Promise<void> {
  const { request, response } = exchange;
  const details = await provider.interactionDetails(request, response).catch(() => undefined);
  if (details === undefined) return sendPage(response, 400, 'This sign-in has expired. Start again.');
  const step = request.method === 'POST' ? new URL(request.url ?? '', 'http://sandbox').pathname.split('/')[3] : 'show';
  switch (step) {
    case 'show':
      return sendPage(response, 200, firstPage(details));
    case 'login':
      return logIn(provider, accounts, details, exchange);
    case 'consent':
      return consent(provider, details, exchange);
    case 'deny':
      return provider.interactionFinished(
        request,
        response,
        { error: 'access_denied', error_description: 'The user refused' },
        { mergeWithLastSubmission: false },
      );
    default:
      return sendPage(response, 404, 'This page does not exist.');
  }
}

function firstPage(details: InteractionDetails): string {
  return details.prompt.name === 'login'
    ? loginPage(details.uid)
    : consentPage(details.uid, details.params.client_id, requestedScopes(details));
}

async function logIn(
  provider: Provider,
  accounts: Accounts,
  details: InteractionDetails,
  { request, response, form }: InteractionExchange,
): Promise<void> {
  const account = accounts.login(form.get('username') ?? '', form.get('password') ?? '');
  if (account === undefined) {
    return sendPage(response, 401, loginPage(details.uid, 'Wrong user name or password, or the account is disabled.'));
  }
  await provider.interactionFinished(request, response, { login: { accountId: account.sub } });
}

async function consent(
  provider: Provider,
  details: InteractionDetails,
  { request, response, form }: InteractionExchange,
): Promise<void> {
  const accountId = details.session?.accountId;
  if (accountId === undefined) return sendPage(response, 400, 'Log in first.');
  const requested = requestedScopes(details);
  const ticked = new Set([...form.getAll('scope'), 'openid']);
  const granted = requested.filter((scope) => ticked.has(scope));
  const refused = requested.filter((scope) => !ticked.has(scope));
  const grant = new provider.Grant({ accountId, clientId: details.params.client_id });
  grant.addOIDCScope(granted.join(' '));
  if (refused.length > 0) grant.rejectOIDCScope(refused.join(' '));
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

function requestedScopes(details: InteractionDetails): string[] {
  return (details.params.scope ?? '').split(' ').filter((scope) => scope !== '');
}

function sendPage(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(html);
}
