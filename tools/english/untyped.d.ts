declare module 'textlint-rule-prh' {
  const rule: import('@textlint/types').TextlintRuleModule;
  export default rule;
}
