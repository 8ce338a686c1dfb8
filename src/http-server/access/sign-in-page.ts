import { SIGN_IN_PATH } from '../../control/access.ts';
import { SHORTEST_PASSPHRASE } from '../../control/sign-in.ts';
import type { Language } from '../../messages/message.ts';
import { type Html, html } from '../../model/html.ts';
import type { Page } from '../pages/layout.ts';

/** Why nobody was let in, as a person is told it. */
export type SignInFailure =
  | 'passphrase'
  | 'unusable'
  | 'different'
  | 'often'
  | 'busy'
  | 'account'
  | 'denied'
  | 'link'
  | 'failed';

/** What a page of signing in is about. */
export interface SignInView {
  /** Where the browser goes on; a path of ours. */
  to: string;
  failure?: SignInFailure;
  /** The address that was opened, which signs in once. */
  link?: { mustSet: boolean };
}

/** How administrators sign in here: with a passphrase, at a provider of this host. */
export interface SignInWays {
  passphrase: boolean;
  provider: string | null;
}

const TEXTS = {
  en: {
    title: 'Sign in',
    passphrase: 'Passphrase',
    again: 'The same once more',
    signIn: 'Sign in',
    provider: 'Continue with',
    first: 'Choose the passphrase with which you sign in from now on.',
    rule: `At least ${SHORTEST_PASSPHRASE} characters, such as four words by chance.`,
    set: 'Set the passphrase and sign in',
    only: 'This address signs you in once.',
    another: 'Or choose another passphrase, which ends all of your sessions.',
    none: 'Nobody can sign in here: clinic-mirror.yaml names no way (operator.access).',
  },
  it: {
    title: 'Accesso',
    passphrase: 'Passphrase',
    again: 'Ancora una volta la stessa',
    signIn: 'Accedi',
    provider: 'Continua con',
    first: 'Scegliere la passphrase con cui accedere da ora in poi.',
    rule: `Almeno ${SHORTEST_PASSPHRASE} caratteri, per esempio quattro parole a caso.`,
    set: 'Imposta la passphrase e accedi',
    only: 'Questo indirizzo fa accedere una volta sola.',
    another: 'Oppure scegliere un’altra passphrase: tutte le sessioni aperte finiranno.',
    none: 'Qui nessuno può accedere: clinic-mirror.yaml non indica alcun modo (operator.access).',
  },
} as const;

const FAILURES: Record<Language, Record<SignInFailure, string>> = {
  en: {
    passphrase: 'That is not the passphrase.',
    unusable: 'This passphrase is too short or too long.',
    different: 'The two passphrases are not the same.',
    often: 'Too many tries. Wait a quarter of an hour.',
    busy: 'Too many requests in a short time. Try again in a minute.',
    account: 'Your account may not look at anything here. An owner can add it.',
    denied: 'The provider did not let you in.',
    link: 'This address was used already or is too old. The command “clinic-mirror access sign-in” gives another.',
    failed: 'Something went wrong on the way. Try again in a few minutes.',
  },
  it: {
    passphrase: 'Non è la passphrase giusta.',
    unusable: 'Questa passphrase è troppo corta o troppo lunga.',
    different: 'Le due passphrase non sono uguali.',
    often: 'Troppi tentativi. Attendere un quarto d’ora.',
    busy: 'Troppe richieste in poco tempo. Riprovare tra un minuto.',
    account: 'Questo account non è autorizzato. Può aggiungerlo un responsabile.',
    denied: 'L’accesso non è stato concesso.',
    link: 'Questo indirizzo è già stato usato o è scaduto. Il comando «clinic-mirror access sign-in» ne dà un altro.',
    failed: 'Qualcosa è andato storto. Riprovare tra qualche minuto.',
  },
};

/** A page of signing in. It holds constant words, the provider's host, and where the browser goes on. */
export function signInPage(language: Language, ways: SignInWays, view: SignInView): Page {
  const texts = TEXTS[language];
  const { failure, link } = view;
  const told =
    failure === undefined ? null : html`<p class="notice act" role="alert">${FAILURES[language][failure]}</p>`;
  const ask = link === undefined ? askWho(language, ways, view) : askOwner(language, link);
  return { title: texts.title, main: html`${told}${ask}` };
}

function askWho(language: Language, { passphrase, provider }: SignInWays, { to }: SignInView): Html {
  const texts = TEXTS[language];
  if (!passphrase && provider === null) return html`<p>${texts.none}</p>`;
  const onward = `${SIGN_IN_PATH}/provider?to=${encodeURIComponent(to)}`;
  return html`${provider === null ? null : html`<p><a class="button main" href="${onward}">${texts.provider} ${provider}</a></p>`}
${
  passphrase
    ? html`<form class="stack" method="post" action="${SIGN_IN_PATH}"><input type="hidden" name="to" value="${to}">
<p><label>${texts.passphrase} <input type="password" name="passphrase" required autocomplete="current-password"></label></p>
<p><button class="button main">${texts.signIn}</button></p></form>`
    : null
}`;
}

/** Forms without an address are sent to where they stand. */
function askOwner(language: Language, { mustSet }: { mustSet: boolean }): Html {
  const texts = TEXTS[language];
  const set = html`<form class="stack" method="post"><p>${mustSet ? texts.first : texts.another} ${texts.rule}</p>
<p><label>${texts.passphrase} <input type="password" name="passphrase" required minlength="${SHORTEST_PASSPHRASE}" autocomplete="new-password"></label></p>
<p><label>${texts.again} <input type="password" name="again" required autocomplete="new-password"></label></p>
<p><button class="button main">${texts.set}</button></p></form>`;
  if (mustSet) return set;
  return html`<form class="stack" method="post"><p>${texts.only}</p><p><button class="button main">${texts.signIn}</button></p></form>${set}`;
}
