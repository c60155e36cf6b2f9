import type { ItemOf, Operations } from '@holdfast/contract';

export type Member = ItemOf<Operations['listMembers']>;
