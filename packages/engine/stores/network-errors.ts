const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The endpoint refused the connection.',
  ECONNRESET: 'The connection to the endpoint broke.',
  EPIPE: 'The connection to the endpoint broke.',
  EHOSTUNREACH: 'The endpoint cannot be reached.',
  ENETUNREACH: 'The endpoint cannot be reached.',
  ETIMEDOUT: 'The endpoint did not answer in time.',
  TimeoutError: 'The endpoint did not answer in time.',
  ENOTFOUND: 'The name of the endpoint could not be resolved.',
  ENODATA: 'The name of the endpoint could not be resolved.',
  ESERVFAIL: 'The name of the endpoint could not be resolved.',
  ETIMEOUT: 'The name of the endpoint could not be resolved in time.',
  EPROTO: 'The endpoint does not speak TLS there: one without it begins with http://, and needs the right port.',
};
/** The name does not exist, which says more than that no name server could be asked. */
const unknownName = ['ENOTFOUND', 'ENODATA'];

export interface NetworkFailure {
  code: string;
  sentence: string;
  /** The operator does not allow this address, so nothing was dialled. Trying again changes nothing. */
  isRefused: boolean;
  isUnknownName: boolean;
}

/** Why a request got no answer, in words for a person; undefined when the network was not to blame. */
export function networkFailure(error: unknown): NetworkFailure | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    const code = (current as NodeJS.ErrnoException).code ?? current.name;
    const isUnknownName = unknownName.includes(code);
    if (code === 'ADDRESS_REFUSED') return { code, sentence: current.message, isRefused: true, isUnknownName };
    const sentence = sentences[code] ?? certificateSentence(code);
    if (sentence !== undefined) return { code, sentence, isRefused: false, isUnknownName };
  }
  return undefined;
}

function certificateSentence(code: string): string | undefined {
  return /CERT|SIGNED|_ISSUER|LEAF_SIGNATURE|ALTNAME/.test(code)
    ? `The certificate of the endpoint is not trusted (${code}).`
    : undefined;
}
