/** The fields in protobuf of what is posted and not stored: reviews, tokens, evictions, options of a deletion. */
export const requestFields = {
  DeleteOptions: `
    gracePeriodSeconds=1:int! preconditions=2:Preconditions orphanDependents=3:bool!
    propagationPolicy=4! dryRun=5* ignoreStoreReadErrorWithClusterBreakingPotential=6:bool!`,
  Preconditions: 'uid=1! resourceVersion=2!',
  Eviction: 'metadata=1:ObjectMeta deleteOptions=2:DeleteOptions',
  TokenRequest: 'metadata=1:ObjectMeta spec=2:TokenRequestSpec status=3:TokenRequestStatus',
  TokenRequestSpec: `
    audiences=1* boundObjectRef=3:BoundObjectReference expirationSeconds=4:int! attestations=5%:texts`,
  BoundObjectReference: 'kind=1 apiVersion=2 name=3 uid=4',
  TokenRequestStatus: 'token=1! expirationTimestamp=2:time',
  TokenReview: 'metadata=1:ObjectMeta spec=2:TokenReviewSpec status=3:TokenReviewStatus',
  TokenReviewSpec: 'token=1 audiences=2*',
  TokenReviewStatus: 'authenticated=1:bool user=2:UserInfo error=3 audiences=4*',
  UserInfo: 'username=1 uid=2 groups=3* extra=4%:texts',
  SelfSubjectReview: 'metadata=1:ObjectMeta status=2:SelfSubjectReviewStatus',
  SelfSubjectReviewStatus: 'userInfo=1:UserInfo',
  SelfSubjectAccessReview: `
    metadata=1:ObjectMeta spec=2:SelfSubjectAccessReviewSpec status=3:SubjectAccessReviewStatus`,
  SelfSubjectAccessReviewSpec: `
    resourceAttributes=1:ResourceAttributes nonResourceAttributes=2:NonResourceAttributes`,
  ResourceAttributes: `
    namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7
    fieldSelector=8:FieldSelectorAttributes labelSelector=9:LabelSelectorAttributes`,
  FieldSelectorAttributes: 'rawSelector=1 requirements=2*:FieldSelectorRequirement',
  FieldSelectorRequirement: 'key=1! operator=2! values=3*',
  LabelSelectorAttributes: 'rawSelector=1 requirements=2*:LabelSelectorRequirement',
  NonResourceAttributes: 'path=1 verb=2',
  SubjectAccessReviewStatus: 'allowed=1:bool! reason=2 evaluationError=3 denied=4:bool',
  SelfSubjectRulesReview: `
    metadata=1:ObjectMeta spec=2:SelfSubjectRulesReviewSpec status=3:SubjectRulesReviewStatus`,
  SelfSubjectRulesReviewSpec: 'namespace=1',
  SubjectRulesReviewStatus: `
    resourceRules=1*:ResourceRule nonResourceRules=2*:NonResourceRule incomplete=3:bool!
    evaluationError=4`,
  ResourceRule: 'verbs=1* apiGroups=2* resources=3* resourceNames=4*',
  NonResourceRule: 'verbs=1* nonResourceURLs=2*',
  SubjectAccessReview: `
    metadata=1:ObjectMeta spec=2:SubjectAccessReviewSpec status=3:SubjectAccessReviewStatus`,
  SubjectAccessReviewSpec: `
    resourceAttributes=1:ResourceAttributes nonResourceAttributes=2:NonResourceAttributes user=3
    groups=4* extra=5%:texts uid=6`,
  LocalSubjectAccessReview: `
    metadata=1:ObjectMeta spec=2:SubjectAccessReviewSpec status=3:SubjectAccessReviewStatus`,
} as const;
