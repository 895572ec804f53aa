package wire

import "testing"

func TestDatasets(t *testing.T) {
	name := MustParseName("/A")
	face := FaceStatus{
		ID: 260, URI: "udp4://192.0.2.1:6363", LocalURI: "l", Local: true, OnDemand: true, MTU: 1400, HasMTU: true,
		InInterests: 1, InData: 2, InNacks: 3, OutInterests: 4, OutData: 5, OutNacks: 6, InBytes: 7, OutBytes: 70000, Flags: 1,
	}
	status := GeneralStatus{
		Version: "v", Start: 1, Current: 2, FIB: 3, PIT: 4,
		InInterests: 5, InData: 6, InNacks: 7, OutInterests: 8, OutData: 9, OutNacks: 10, Satisfied: 11, Unsatisfied: 12,
	}
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"face", face.Append(nil), `80 49 69020104 7215 756470343a2f2f3139322e302e322e313a36333633 81016c
			840101 850101 860100 89020578 900101 910102 970103 920104 930105 980106 940107 950400011170 6c0101`},
		{
			"route", AppendRIBEntry(nil, name, []RouteStatus{{FaceID: 1, Cost: 2, Flags: 1}, {FaceID: 3, Origin: 255, Expiration: 5000, HasExpiration: true}}),
			"80 25 0703080141 810c 690101 6f0100 6a0102 6c0101 8110 690103 6f01ff 6a0100 6c0100 6d021388",
		},
		{"next hop", AppendFIBEntry(nil, name, []NextHopStatus{{1, 2}}), "80 0d 0703080141 8106 690101 6a0102"},
		{"strategy", AppendStrategyChoice(nil, name, name), "80 0c 0703080141 6b05 0703080141"},
		{"cs", AppendCSInfo(nil, 1, 3, 0, 4, 5), "80 0f 830101 6c0103 870100 810104 820105"},
		{"status", status.Append(nil), `800176 810101 820102 830100 840103 850104 860100 870100
			900105 910106 970107 920108 930109 98010a 99010b 9a010c`},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, "encoded", c.got, unhex(t, c.want)) })
	}
}
