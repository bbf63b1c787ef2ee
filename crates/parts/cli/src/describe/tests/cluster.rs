//! What is shared: nodes, namespaces, and how much may be used.

use insta::assert_snapshot;

use super::page;

#[test]
fn a_node_shows_what_runs_on_it() {
    assert_snapshot!(page("node"), @"
    Name:               web
    Roles:              control-plane,edge
    Labels:             kubernetes.io/hostname=web
                        kubernetes.io/role=edge
                        node-role.kubernetes.io/control-plane=
    Annotations:        a: b
    CreationTimestamp:  Wed, 31 Dec 2025 20:00:00 +0000
    Taints:             a:NoExecute
                        b=x:NoSchedule
    Unschedulable:      true
    Lease:
      HolderIdentity:  web
      AcquireTime:     Wed, 31 Dec 2025 20:00:00 +0000
      RenewTime:       Wed, 31 Dec 2025 23:59:50 +0000
    Conditions:
      Type             Status  LastHeartbeatTime                 LastTransitionTime                Reason                       Message
      ----             ------  -----------------                 ------------------                ------                       -------
      Ready            True    Wed, 31 Dec 2025 23:59:00 +0000   Wed, 31 Dec 2025 20:01:00 +0000   KubeletReady                 kubelet is posting ready status
      MemoryPressure   False   Wed, 31 Dec 2025 23:59:00 +0000   Wed, 31 Dec 2025 20:01:00 +0000   KubeletHasSufficientMemory   kubelet has sufficient memory available
    Addresses:
      InternalIP:  10.0.0.1
      Hostname:    web
    Capacity:
      cpu:                8
      ephemeral-storage:  100Gi
      example.com/gpu:    2
      memory:             16Gi
      pods:               110
    Allocatable:
      cpu:                7500m
      ephemeral-storage:  90Gi
      example.com/gpu:    2
      memory:             15Gi
      pods:               110
    System Info:
      Machine ID:                 m
      System UUID:                s
      Boot ID:                    b
      Kernel Version:             6.1.0
      OS Image:                   Debian 12
      Operating System:           linux
      Architecture:               amd64
      Container Runtime Version:  containerd://2.0.0
      Kubelet Version:            v1.32.0
      Kube-Proxy Version:         v1.32.0
    PodCIDR:                      10.1.0.0/24
    PodCIDRs:                     10.1.0.0/24,fd00::/64
    ProviderID:                   kind://docker/web
    Non-terminated Pods:          (2 in total)
      Namespace                   Name    CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
      ---------                   ----    ------------  ----------  ---------------  -------------  ---
      shop                        a       2 (26%)       500m (6%)   1Gi (6%)         2Gi (13%)      60m
      kube-system                 bare    0 (0%)        0 (0%)      50Mi (0%)        0 (0%)         120m
    Allocated resources:
      (Total limits may be over 100 percent, i.e., overcommitted.)
      Resource           Requests     Limits
      --------           --------     ------
      cpu                2 (26%)      500m (6%)
      memory             1074Mi (6%)  2Gi (13%)
      ephemeral-storage  1Gi (1%)     0 (0%)
      example.com/gpu    1            1
    Events:
      Type    Reason     Age   From     Message
      ----    ------     ----  ----     -------
      Normal  NodeReady  60m   kubelet  ready
    ");
}

#[test]
fn a_namespace_shows_its_quotas_and_limits() {
    assert_snapshot!(page("namespace"), @"
    Name:         web
    Labels:       kubernetes.io/metadata.name=web
    Annotations:  <none>
    Status:       Terminating
    Conditions:
      Type                             Status  LastTransitionTime               Reason                 Message
      ----                             ------  ------------------               ------                 -------
      NamespaceDeletionContentFailure  True    Wed, 31 Dec 2025 22:00:00 +0000  ContentDeletionFailed  some is left

    Resource Quotas
      Name:    all
      Scopes:  BestEffort
      * Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.
      Resource  Used  Hard
      --------  ----  ----
      cpu       500m  2
      pods      1     4

    Resource Limits
     Type       Resource  Min  Max  Default Request  Default Limit  Max Limit/Request Ratio
     ----       --------  ---  ---  ---------------  -------------  -----------------------
     Container  cpu       10m  2    100m             1              4
     Container  memory    -    1Gi  -                -              -
    ");
}

#[test]
fn a_namespace_may_be_without_bounds() {
    assert_snapshot!(page("namespace-bare"), @"
    Name:         web
    Labels:       <none>
    Annotations:  <none>
    Status:       Active

    No resource quota.

    No LimitRange resource.
    ");
}

#[test]
fn a_quota_shows_how_far_it_is_used_up() {
    assert_snapshot!(page("resourcequota"), @"
    Name:       web
    Namespace:  shop
    Scopes:     BestEffort, NotTerminating
     * Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.
     * Matches all pods that do not have an active deadline. These pods usually include long running pods whose container command is not expected to terminate.
    Resource         Used  Hard
    --------         ----  ----
    pods             1     4
    requests.cpu     500m  2
    requests.memory  0     1Gi
    ");
}

#[test]
fn limits_are_shown_for_each_resource() {
    assert_snapshot!(page("limitrange"), @"
    Name:                  web
    Namespace:             shop
    Type                   Resource  Min  Max  Default Request  Default Limit  Max Limit/Request Ratio
    ----                   --------  ---  ---  ---------------  -------------  -----------------------
    Container              cpu       10m  2    100m             1              4
    Container              memory    -    1Gi  -                -              -
    PersistentVolumeClaim  storage   1Gi  -    -                -              -
    ");
}

#[test]
fn an_account_shows_its_secrets() {
    assert_snapshot!(page("serviceaccount"), @"
    Name:                web
    Namespace:           shop
    Labels:              <none>
    Annotations:         <none>
    Image pull secrets:  registry
    Mountable secrets:   web-token
                         gone (not found)
    Tokens:              web-token
    Events:              <none>
    ");
}

#[test]
fn an_autoscaler_shows_what_it_measures() {
    assert_snapshot!(page("hpa"), @r#"
    Name:                                                                     web
    Namespace:                                                                shop
    Labels:                                                                   <none>
    Annotations:                                                              <none>
    CreationTimestamp:                                                        Wed, 31 Dec 2025 20:00:00 +0000
    Reference:                                                                Deployment/web
    Metrics:                                                                  ( current / target )
      resource cpu on pods  (as a percentage of request):                     50% (50m) / 80%
      resource memory on pods:                                                80Mi / 100Mi
      "packets" on pods:                                                      <unknown> / 1k
      "requests" on Ingress/main (target value):                              <unknown> / 10k
      "queue" (target average value):                                         <unknown> / 30
      "depth" (target value):                                                 <unknown> / 5
      resource cpu of container "web" on pods  (as a percentage of request):  <unknown> / 60%
    Min replicas:                                                             2
    Max replicas:                                                             10
    Behavior:
      Scale Up:
        Stabilization Window: 0 seconds
        Select Policy: Max
        Policies:
          - Type: Percent  Value: 100  Period: 15 seconds
          - Type: Pods     Value: 4    Period: 15 seconds
      Scale Down:
        Stabilization Window: 300 seconds
        Select Policy: Min
        Policies:
          - Type: Pods  Value: 1  Period: 60 seconds
    Deployment pods:    3 current / 4 desired
    Conditions:
      Type            Status  Reason              Message
      ----            ------  ------              -------
      AbleToScale     True    ReadyForNewScale    recommended size matches current size
      ScalingLimited  False   DesiredWithinRange  the desired count is within the acceptable range
    Events:           <none>
    "#);
}

#[test]
fn an_autoscaler_may_not_know_anything_yet() {
    assert_snapshot!(page("hpa-bare"), @"
    Name:                                                  web
    Namespace:                                             shop
    Labels:                                                <none>
    Annotations:                                           <none>
    CreationTimestamp:                                     Wed, 31 Dec 2025 20:00:00 +0000
    Reference:                                             Deployment/web
    Metrics:                                               ( current / target )
      resource cpu on pods  (as a percentage of request):  <unknown> / 80%
    Min replicas:                                          <unset>
    Max replicas:                                          10
    Deployment pods:                                       0 current / 0 desired
    Events:                                                <none>
    ");
}

#[test]
fn a_node_may_not_have_been_heard_of() {
    assert_snapshot!(page("node-bare"), @r#"
    Name:               web
    Roles:              <none>
    Labels:             <none>
    Annotations:        <none>
    CreationTimestamp:
    Taints:             <none>
    Unschedulable:      false
    Lease:              Failed to get lease: leases "web" not found
    Addresses:
    Capacity:
      cpu:  4
    Allocatable:
      cpu:            4
      hugepages-2Mi:  0
      memory:         8Gi
      pods:           110
    System Info:
      Machine ID:
      System UUID:
      Boot ID:
      Kernel Version:
      OS Image:
      Operating System:
      Architecture:
      Container Runtime Version:
      Kubelet Version:
      Kube-Proxy Version:
    Non-terminated Pods:          (1 in total)
      Namespace                   Name             CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
      ---------                   ----             ------------  ----------  ---------------  -------------  ---
      a                           averylongname    100m (2%)     8 (200%)    0 (0%)           0 (0%)         <unknown>
    Allocated resources:
      (Total limits may be over 100 percent, i.e., overcommitted.)
      Resource           Requests   Limits
      --------           --------   ------
      cpu                100m (2%)  8 (200%)
      memory             0 (0%)     0 (0%)
      ephemeral-storage  0 (0%)     0 (0%)
      hugepages-2Mi      0 (0%)     0 (0%)
    Events:              <none>
    "#);
}
