/** Only so many characters are rated, because the rating blocks the process for up to 0.1 s at this length. */
const RATED_CHARACTERS = 64;
/** Scale of zxcvbn, 0 to 4. 3 needs at least 10^8 guesses. @see https://zxcvbn-ts.github.io/zxcvbn/guide/getting-started/ */
const LEAST_SCORE = 3;
/** Words that an attacker of this product tries first count as nothing. */
const OWN_WORDS = /clinic|mirror/gi;

/**
 * Decides whether an attacker guesses a passphrase soon: known passwords, names, keyboard rows, dates, sequences and repetitions (OWASP ASVS
 * 5.0, 6.2.4). The list of known passwords is part of the package, so the passphrase is sent nowhere. It is loaded on the first use.
 */
export async function isGuessable(passphrase: string): Promise<boolean> {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs: graphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  const rating = new ZxcvbnFactory({ dictionary, graphs, maxLength: RATED_CHARACTERS });
  return rating.check(passphrase.replaceAll(OWN_WORDS, '').slice(0, RATED_CHARACTERS)).score < LEAST_SCORE;
}
