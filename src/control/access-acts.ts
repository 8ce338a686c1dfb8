/** The verbs of `acts.ts` that concern who may do what. */
import * as access from './access.ts';
import { type ActAbout, type Acting, act, nameOf, recordAct } from './recording.ts';

/** @see access.makeSignInLink */
export const makeSignInLink = act(access.makeSignInLink, (_, __, isFirst = false) => ({
  verb: 'sign-in-link',
  tenant: null,
  what: { first: isFirst },
}));

/**
 * Of who acts.
 * @see access.createAccessToken
 */
export async function createAccessToken(
  acting: Acting,
  desk: access.AccessDesk,
  wish: access.TokenWish,
): ReturnType<typeof access.createAccessToken> {
  const { name, level, tenants, days } = wish;
  const known = tenants?.filter((tenant) => desk.tenants().includes(tenant)).join(' ') ?? null;
  const about: ActAbout = { verb: 'access-token', tenant: null, what: { token: name, level, tenants: known, days } };
  return recordAct(acting, about, () => access.createAccessToken(desk, wish, nameOf(acting.who)));
}

/** The address is personal data: the audit log names none. @see access.releaseAccount */
export const releaseAccount = act(access.releaseAccount, () => ({ verb: 'release-account', tenant: null }));

/** @see access.revokeAccessToken */
export const revokeAccessToken = act(access.revokeAccessToken, async (_, desk, name) => {
  const isKnown = (await desk.tokens.list()).some((token) => token.name === name);
  return { verb: 'revoke-access-token', tenant: null, what: { token: isKnown ? name : null } };
});
